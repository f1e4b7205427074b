"""Texts that a tokeniser has to survive."""

from __future__ import annotations

import itertools

from viz_transformer.corpus import draw

#: Sentences of the generated corpus, both languages.
TEXTS = [
    " ".join(side).capitalize() + "."
    for pair in itertools.islice(draw(0), 300)
    for side in (pair.source, pair.target)
]
#: Special tokens, markup, control characters, and letters from outside the corpus.
HOSTILE = [
    "<eos>",
    "a<eos><pad> <sos></s>",
    "<0x41><0xC3>",
    "▁the▁cat",
    "</script><script>alert(1)</script>",
    "\u202eabc\u202c\u200b\0\x1f",
    "a\u0301 e\u0301 Å ﬁ",
    "日本語 🐈‍⬛ ñ",
    "\ud83d half a cat",
    "\ufeffmark",
    "l'homme d’or aujourd'hui it's",
]
