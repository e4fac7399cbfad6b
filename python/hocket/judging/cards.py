"""The network cards of a node that a text tells: how many, of what kind, and how fast."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from hocket.judging.lines import NUMBER, NumberedLines, whole_number
from hocket.judging.mention import Mention

_RATES: Mapping[str, int] = MappingProxyType(
    {"EDR": 100, "HDR": 200, "NDR": 400, "XDR": 800, "HDR100": 100, "NDR200": 200, "FDR": 56}
)
_CARD_WORD = re.compile(
    r"(?i)\b(?:IB|InfiniBand|RoCE\w*|NICs?|HCAs?|network|Ethernet|ConnectX|CX[-0-9]+|EFA|Slingshot|Omni-?Path|OPA|GigE)\b|\bmlx5_"
)
_RATE = re.compile(
    r"(?<![\w.~])(?P<rate>10|25|40|50|56|100|200|300|400|800)\s?(?:Gb(?:ps|its?)?(?:/s)?(?![\w/])|GigE\b|GbE\b|"
    r"G\b(?=\s*(?:HDR|NDR|EDR|IB|InfiniBand|RoCE|NIC|Ethernet|network)))"
)
_RATE_BEHIND = re.compile(
    r"\b(?:IB|InfiniBand|[EHN]DR|RoCE|Ethernet|Slingshot)\s+(?P<rate>25|40|50|100|200|400|800)G\b"
)
_GENERATION = re.compile(r"\b(?P<name>EDR|HDR100|NDR200|HDR|NDR|XDR|FDR)\b")
_CARD_COUNT = re.compile(
    NUMBER.format("count")
    + r"\s?(?:x|\*|×|-)?\s*(?:(?:single|dual)-port\s+)?(?:(?:Mellanox|NVIDIA|ConnectX-?[0-9]|"
    r"CX-?[0-9]|[0-9]+ ?(?:Gb\S*|G)|HDR|NDR|EDR|IB|InfiniBand|RoCE\w*|EFA|network|GPU-)\s*)*"
    r"(?:NICs?|HCAs?|cards?|nics?|nic|HDR|NDR|EDR|EFAs?|GPU-NIC pairs)\b", re.I
)  # fmt: skip
_USING = re.compile(r"\bNET/(?P<net>IB\w*|OFI)\s*: Using (?P<list>\[0\].*)")
_USING_CARD = re.compile(r"\[[0-9]+\](?P<name>[\w.-]+):[0-9]+/(?P<kind>IB|RoCE)")
_LAST_CARD = re.compile(r"\[([0-9]{1,3})\][\w.-]+:[0-9]+/")
_NAMES = re.compile(r"\bNCCL_IB_HCA(?:\s*=\s*|\s+set (?:by environment )?to\s+)=?(?P<list>[\w:,.-]+)")
_KIND_WORDS = (
    ("slingshot", re.compile(r"(?i)\bslingshot|\bcxi\b|\bFI_CXI_")),
    ("omni-path", re.compile(r"(?i)\bomni-?path\b")),
    ("efa", re.compile(r"\bEFA\b|\bprovider is efa\b|FI_PROVIDER=\W?efa|AWS Libfabric")),
    (
        "rdma",
        re.compile(
            r"(?i)\bNET/IB\w*\s*: Using \[|\binfiniband\b|\bRoCE|\b[EHN]DR\b|"
            r"\bIB (?:card|network|switch)|NET/IB\w*/[0-9]"
        ),
    ),
)
_MOST_CARDS = 32


def cards_in(lines: NumberedLines, file: str) -> Iterator[Mention]:
    """Give the cards of a node: how many, of what kind, and how fast."""
    for number, line in lines:
        source = f"{file}:{number}"
        if (using := _USING.search(line)) is not None and (cards := _USING_CARD.findall(using["list"])):
            names = list(dict.fromkeys(name for name, _ in cards))
            if "…" in line or "..." in line:
                count = (
                    int(_LAST_CARD.findall(using["list"])[-1]) + 1
                )  # the list is shortened, but its last number is not
                yield Mention("cards used", str(count), f"NCCL uses {_cards_word(count)}", source)
            else:
                yield Mention(
                    "cards used", str(len(names)), f"NCCL uses {_cards_word(len(names))}: {', '.join(names)}", source
                )
            yield Mention("net", "rdma", f"the cards speak {cards[0][1]}", source)
        if (match := _NAMES.search(line)) is not None and not line[match.end() :].startswith(("…", "...")):
            names = list(dict.fromkeys(match["list"].strip(",").split(",")))
        else:
            names = []
        if names and all(re.search("[0-9]", name) for name in names):
            yield Mention("cards named", str(len(names)), f"NCCL_IB_HCA names {_cards_word(len(names))}", source)
        for kind, word in _KIND_WORDS:
            if word.search(line):
                yield Mention("net", kind, f"the network is {_net_name(kind)}", source)
        if _CARD_WORD.search(line) or _GENERATION.search(line):
            yield from _rates(line, source)


def _cards_word(count: int) -> str:
    return "one card" if count == 1 else f"{count} cards"


def _net_name(kind: str) -> str:
    return {"rdma": "InfiniBand or RoCE", "efa": "EFA", "slingshot": "Slingshot", "omni-path": "Omni-Path"}[kind]


def _rates(line: str, source: str) -> Iterator[Mention]:
    for rate in (*_RATE.finditer(line), *_RATE_BEHIND.finditer(line)):
        yield Mention("rate", rate["rate"], f"a card has {rate['rate']} Gbit/s", source)
    for generation in _GENERATION.finditer(line):
        rate_gbit = _RATES[generation["name"]]
        yield Mention("rate", str(rate_gbit), f"{generation['name']} has {rate_gbit} Gbit/s", source)
    if (count := _CARD_COUNT.search(line)) is not None:
        cards = whole_number(count["count"])
        if cards is not None and cards <= _MOST_CARDS:
            yield Mention("cards told", str(cards), f"the text tells of {_cards_word(cards)}", source)
