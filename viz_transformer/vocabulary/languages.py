"""Language tags for HTML's ``lang``, by the names of languages."""

from __future__ import annotations

_TAGS = {
    "english": "en",
    "french": "fr",
    "german": "de",
    "italian": "it",
    "portuguese": "pt",
    "spanish": "es",
}


def language_tag(name: str) -> str:
    """Return the tag for HTML's ``lang``, such as ``"es"`` for Spanish; ``""`` where none is known.

    A name that is a tag itself, such as ``"de"``, stays as it is.

    >>> from viz_transformer.vocabulary import language_tag
    >>> language_tag("Spanish")
    'es'

    Args:
        name: of the language, in English.

    Source: BCP 47.
    """
    name = name.lower()
    return name if name in _TAGS.values() else _TAGS.get(name, "")
