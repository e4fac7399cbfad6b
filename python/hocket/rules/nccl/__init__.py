"""What NCCL chooses by its own tables: constants, hardware, times, decisions."""
