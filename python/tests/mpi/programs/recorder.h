/* What the recorders share: the destination and the bytes of each message, in order. A program reads them by these
 * functions. Before a message of its own it names the destination (`recorder_peer`), which identifies the peer of each
 * rank: an endpoint or an address, but not 0.
 */
#include <stddef.h>
#include <stdint.h>

enum { MOST_PEERS = 256, MOST_MESSAGES = 1 << 16 };

static uint64_t peers[MOST_PEERS];
static int expected_peer = -1, is_on, messages;
static struct {
    int to;
    size_t bytes;
} sent[MOST_MESSAGES];

void recorder_peer(int rank)
{
    expected_peer = rank;
}

/* Starts or stops the recording. */
void recorder_switch(int on)
{
    is_on = on;
    messages = on ? 0 : messages;
}

int recorder_messages(void)
{
    return messages;
}

void recorder_get(int number, int *to, size_t *bytes)
{
    *to = sent[number].to;
    *bytes = sent[number].bytes;
}

static void record(uint64_t peer, size_t bytes)
{
    int to = -1;
    if (expected_peer >= 0)
        peers[expected_peer] = peer;
    expected_peer = -1;
    if (!is_on || messages == MOST_MESSAGES)
        return;
    for (int rank = 0; rank < MOST_PEERS; rank++)
        if (peers[rank] == peer)
            to = rank;
    sent[messages].to = to;
    sent[messages++].bytes = bytes;
}
