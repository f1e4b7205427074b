"""The parts of scores of pretrained models: they add up to what their own attention was made from."""

import numpy as np
import pytest
from transformers import AutoModel, AutoTokenizer, LlamaForCausalLM

import viz_transformer as vt
from viz_transformer.trace import attention_of

pytestmark = pytest.mark.real

TEXT = "When Mary and John went to the store, John gave a drink to"


@pytest.mark.parametrize(("name", "places"), [("smollm2", [(16, 0), (4, 7)]), ("minilm", [(0, 0), (5, 1)])])
def test_parts_add_up_to_scores_whose_softmax_is_the_models_own_attention(name, places, request):
    folder = request.getfixturevalue(f"{name}_folder")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = (LlamaForCausalLM if name == "smollm2" else AutoModel).from_pretrained(folder)
    trace = vt.capture(model, TEXT, tokenizer=tokenizer)
    (kind,) = trace.kinds
    for layer, head in places:
        row = attention_of(trace, kind)[layer, head, -1]  # [key]
        options = {"tokenizer": tokenizer, "layer": layer, "head": head}
        keys = [0, 5, len(row) - 1]
        every = [vt.attribution.score_parts(model, TEXT, key=key, **options) for key in keys]
        scores = np.array([each.score for each in every])
        np.testing.assert_allclose(scores - scores[0], np.log(row[keys] / row[0]), atol=1e-3)
        for parts in every:
            assert parts.values.sum() == pytest.approx(parts.score, abs=1e-4)
