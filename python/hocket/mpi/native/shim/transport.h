/* The functions by which libhocket sends, receives, reduces and copies, and packing. Tags belong to operations: each has
 * TAGS_PER_OPERATION of its own. */
#ifndef HOCKET_SHIM_TRANSPORT_H
#define HOCKET_SHIM_TRANSPORT_H

#include "operation.h"

#pragma GCC visibility push(hidden)

/* Tags for the messages of one operation. */
enum { TAGS_PER_OPERATION = 64 };

extern const hocket_transport transport;

/* The first tag of the operation of this number among those of its form. */
int first_tag(unsigned number, enum form form);
/* A tag that no operation has. */
int other_tag(void);

/* Moves elements as a message from this rank to itself. */
int send_to_self(const struct operation *operation, struct view from, struct view into);

/* Moves elements between memory in the caller's layout and packed bytes. */
int pack(const struct operation *operation, struct view view, char *packed, int unpacks);

/* Memory of at least so many bytes. */
char *make_room(struct room *room, size_t bytes);

/* Keeps the first error of an operation. */
void note(struct operation *operation, int code);

#pragma GCC visibility pop

#endif
