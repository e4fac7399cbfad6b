"""What patterns of texts may explain: the subjects of `patterns.csv`, by which findings are sorted."""

from __future__ import annotations

SOCKETS = "TCP sockets"
SHARED_MEMORY = "shared memory"
NO_P2P = "peer-to-peer"
GPUDIRECT = "GPUDirect RDMA"
ACS = "ACS"
ALGORITHM = "algorithm"
PROTOCOL = "protocol"
BINDING = "binding"
LAUNCH = "separate runs"
CARDS = "number of cards"
THROUGH_CPU = "peer-to-peer through the CPU"
TOPOLOGY = "detected topology"
