"""The engine behind a view: its model, computed in the page and not in the kernel."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from safetensors.torch import save
from torch import nn

from viz_transformer._text import given_text
from viz_transformer.engine.page_model import PageModel, digest_of
from viz_transformer.errors import UserError
from viz_transformer.huggingface_text import HuggingFaceReader, HuggingFaceText, is_huggingface
from viz_transformer.interpreting.scored_model import HuggingFaceScores
from viz_transformer.model.interventions import Interventions
from viz_transformer.text_model import TextModel
from viz_transformer.vocabulary import Vocabulary
from viz_transformer.widgets.base.view import View

#: A page with a larger model would be slow to open: the kernel keeps it.
MAX_BYTES = 8_000_000

_ENGINES = ("page", "kernel")
_known: WeakValueDictionary[str, PageModel] = WeakValueDictionary()

SomeView = TypeVar("SomeView", bound=View)
#: What a lab may ask: a model of ours, or one of Hugging Face's behind the same calls.
SomeModel: TypeAlias = TextModel | HuggingFaceReader | HuggingFaceScores


def give_engine(
    view: SomeView,
    lab: str,
    models: SomeModel | Mapping[str, SomeModel],
    engine: str | None = None,
    context: Mapping[str, Any] | None = None,
) -> SomeView:
    """Let the page answer a view's requests itself, where its models are small enough; returns the view.

    Args:
        view: the view.
        lab: which of the engine's labs answers its requests, such as ``"head_lab"``.
        models: the model behind the view, or several by name.
        engine: ``"page"``, ``"kernel"``, or None: the page if it can.
        context: what the lab needs beside a request, as plain JSON.

    Raises:
        UserError: if `engine` is neither, or the page cannot compute with a model.
    """
    if engine not in (*_ENGINES, None):
        raise UserError(f"engine={engine!r} must be 'page', 'kernel' or None for what suits the model")
    if engine == "kernel":
        return view
    named = dict(models) if isinstance(models, Mapping) else {"": models}
    obstacles = list(filter(None, map(_obstacle, named.values())))
    if obstacles and engine == "page":
        raise UserError(f"the page cannot run this model: {obstacles[0]}; leave it to engine='kernel'")
    if not obstacles:
        ours = {name: each for name, each in named.items() if isinstance(each, TextModel)}
        carried = {name: page_model(each) for name, each in ours.items()}
        offers = [text for each in ours.values() for text in _offers(each)]
        view.engine = {"lab": lab, "models": carried, "context": dict(context or {}), "offers": offers}
    return view


#: Sentences to try, by what a model does with them.
_TO_TRY = {
    "translate": (
        "the teacher lost her book",
        "the teacher lost his book",
        "the black cat does not sleep",
        "the animal did not cross the street because it was too tired",
        "the animal did not cross the street because it was too wide",
    ),
    "continue": ("el gato no", "la maestra", "la vaca no cruzó la calle porque estaba demasiado"),
    "fill": ("el gato [?] la calle", "la vaca no cruzó la calle porque estaba demasiado [?]"),
}


def _offers(model: TextModel) -> list[str]:
    """Return the sentences to try whose words a model has."""

    def is_known(text: str) -> bool:
        try:
            model.vocabulary.encode(
                text.replace(" [?]", ""), "source" if model.task == "translate" else "target"
            )
        except UserError:
            return False
        return True

    return list(filter(is_known, _TO_TRY[model.task]))


def page_model(model: TextModel) -> PageModel:
    """Return the widget that carries a model; one for all views of the same weights."""
    config, vocabulary = map(_compact, (model.config.to_json(), model.vocabulary.to_json()))
    weights = save({name: each.cpu() for name, each in model.model.state_dict().items()})
    digest = digest_of(config, vocabulary, weights)
    if digest not in _known or _known[digest].comm is None:
        _known[digest] = PageModel(config, vocabulary, weights)
    return _known[digest]


def _compact(text: str) -> str:
    """Return JSON without the spaces and line breaks that make a file readable: every page carries it."""
    return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))


def plain_interventions(interventions: Interventions | None) -> dict[str, Any] | None:
    """Return interventions as the engine names them, as plain JSON; None for none."""
    if interventions is None:
        return None
    names = {"causal_mask": "causalMask", "padding_mask": "paddingMask", "layer_norm": "layerNorm"}
    return {names.get(name, name): value for name, value in asdict(interventions).items()}


def _obstacle(model: SomeModel) -> str | None:
    """Return why a page cannot compute with a model; None if it can."""
    if not isinstance(model, TextModel):
        return "only the kernel runs a model of Hugging Face's"
    n_bytes = sum(each.numel() * each.element_size() for each in model.model.state_dict().values())
    if n_bytes > MAX_BYTES:
        return f"its weights take {n_bytes / 1e6:.1f} MB, and a page carries at most {MAX_BYTES / 1e6:g} MB"
    if not isinstance(model.vocabulary, Vocabulary):
        return "its vocabulary is one of subwords, which only the kernel splits text into"
    return None


#: By task, what a model is called, and what loads it.
_NAMES = {"translate": "translator", "continue": "language model", "fill": "masked language model"}
_LOADERS = {
    "translate": "vt.load_translator()",
    "continue": "vt.load_language_model()",
    "fill": "vt.load_masked_model()",
}


def check_suits(model: Any, tasks: Collection[str], lab: str) -> None:
    """Check that a model has one of the tasks that suit a lab.

    Args:
        model: any object.
        tasks: of ``"translate"``, ``"continue"`` and ``"fill"``.
        lab: what the lab does with the model, for the message.

    Raises:
        UserError: if it has not.
    """
    if isinstance(model, TextModel) and model.task in tasks:
        return
    if isinstance(model, TextModel):
        problem = f"{model.name} does not suit {lab}"
    else:
        problem = f"{shown_model(model)} is no {' or '.join(_NAMES[task] for task in tasks)}"
    raise UserError(
        f"{problem}; give {' or '.join(f'a {_NAMES[task]} ({_LOADERS[task]})' for task in tasks)}"
    )


def shown_model(model: Any) -> str:
    """Return a model, or what was given as one, in a few words: a torch module by its class alone."""
    return f"a {type(model).__name__}" if isinstance(model, nn.Module) else f"{model!r:.60}"


def text_model_of(
    model: Any, tasks: Collection[str], lab: str, tokenizer: Any = None, max_new_tokens: int | None = None
) -> Any:
    """Return the model behind a lab: ours as it is, one of Hugging Face's behind the same calls.

    Args:
        model: any object.
        tasks: as in `check_suits`.
        lab: as in `check_suits`.
        tokenizer: of a model of Hugging Face's.
        max_new_tokens: the most that such a model writes.

    Raises:
        UserError: as `check_suits`, or if a model of Hugging Face's can't write, or has no tokenizer.
    """
    if isinstance(model, HuggingFaceReader):
        return model
    if is_huggingface(model):
        return HuggingFaceText(model, tokenizer, max_new_tokens)
    if tokenizer is not None or max_new_tokens is not None:
        raise UserError(
            f"tokenizer= and max_new_tokens= are for a model of Hugging Face's, and a {type(model).__name__} "
            "is none; leave them out"
        )
    check_suits(model, tasks, lab)
    return model


def reader_of(model: Any, tasks: Collection[str], lab: str, tokenizer: Any = None) -> Any:
    """Return the model behind a view that follows a text through it, whether or not it can write.

    Args:
        model: any object.
        tasks: as in `check_suits`.
        lab: as in `check_suits`.
        tokenizer: of a model of Hugging Face's.

    Raises:
        UserError: as `check_suits`, or if a model of Hugging Face's has no tokenizer.
    """
    if not is_huggingface(model):
        return text_model_of(model, tasks, lab, tokenizer)
    writes = hasattr(model, "can_generate") and model.can_generate()
    return HuggingFaceText(model, tokenizer) if writes else HuggingFaceReader(model, tokenizer)


def text_for(model: SomeModel, text: str | None, defaults: Mapping[str, str], lab: str) -> str:
    """Return the text given, or the default for what the model does with a text.

    Args:
        model: the model.
        text: a text, or None.
        defaults: a text for each task that suits the lab; of our models alone.
        lab: as in `check_suits`.

    Raises:
        UserError: as `check_suits`, or if there is no text for a model of Hugging Face's.
    """
    if isinstance(model, HuggingFaceReader):
        if text is None:
            name = type(model.model).__name__
            raise UserError(f"a {name} has no text of its own to begin with; give one after the model")
        return given_text(text)
    check_suits(model, defaults, lab)
    return defaults[model.task] if text is None else text
