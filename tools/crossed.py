"""Count the package's functions that one call runs: a trace, a capture, and a sentence typed in a page.

`python -m tools.crossed` prints the counts, and with `--list` the functions too. Each call is made once
before it is counted, so what is loaded or made only once is left out, as are lambdas and comprehensions.
"""

from __future__ import annotations

import argparse
import base64
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from tools.ensure import find_node

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "viz_transformer"
TEXT = "the black cat sleeps"
#: Types a sentence twice into a translation lab whose page has its model, and prints what then runs.
_PAGE = """
import { readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { connectKernel } from "./widgets/base/kernel.ts";
import script from "./engine/engine.ts";

const { text, files } = JSON.parse(readFileSync(0, "utf8"));
const weights = new Uint8Array(Buffer.from(files.weights, "base64"));
const state = { ...files, weights: new DataView(weights.buffer) };
const carrier = { get: (trait) => state[trait] };
script.initialize({ model: carrier });
const engine = { lab: "translation_lab", models: { "": "IPY_MODEL_1" }, context: {} };
const kernel = connectKernel({
  get: (trait) => ({ engine })[trait],
  on() {},
  widget_manager: { get_model: async () => carrier, create_view() {} },
});
await kernel.ask({ text });
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
kernel.settle({ text }, ({ error }) => { if (error) throw error; }, () => {});
const { result } = await session.post("Profiler.takePreciseCoverage");
const ran = result.flatMap(({ url, functions }) =>
  functions
    .filter(({ functionName, ranges }) => /^[^<]/.test(functionName) && ranges[0].count)
    .map(({ functionName, ranges: [{ startOffset }] }) => [url, functionName, startOffset]),
);
console.log(JSON.stringify(ran));
"""

#: A function that ran: its file in the package, its name, and where it begins.
Function = tuple[str, str, int]


def functions_run(call: Callable[[], object]) -> set[Function]:
    """Return the package's functions that a call runs, the second time, in any thread."""
    codes = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    call()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {
        (Path(code.co_filename).relative_to(PACKAGE).as_posix(), code.co_qualname, code.co_firstlineno)
        for code in codes
        if Path(code.co_filename).is_relative_to(PACKAGE) and not code.co_name.startswith("<")
    }


def trace_of_text() -> set[Function]:
    """Return what runs between a sentence's text and the trace of its translation."""
    import viz_transformer as vt

    translator = vt.load_translator()
    return functions_run(lambda: translator.trace(TEXT))


def capture_of_bert() -> set[Function]:
    """Return what runs when a small BERT of Hugging Face's is watched."""
    import torch
    from transformers import BertConfig, BertModel

    import viz_transformer as vt

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    model = BertModel(BertConfig(vocab_size=20, **sizes)).eval()
    ids = torch.tensor([[1, 5, 7, 2]])
    return functions_run(lambda: vt.capture(model, input_ids=ids, tokens=["[CLS]", "a", "b", "[SEP]"]))


def sentence_in_page() -> set[Function]:
    """Return what runs in a page between a typed sentence and the answer that is drawn, in Node."""
    import viz_transformer as vt

    (model,) = vt.translation_lab(vt.load_translator(), TEXT).engine["models"].values()
    files = {name: getattr(model, name) for name in ("config", "vocabulary", "digest")}
    files["weights"] = base64.b64encode(model.weights).decode()
    script = _PAGE.replace('from "./', f'from "{PACKAGE.as_uri()}/')
    done = subprocess.run(
        [find_node(), "--input-type=module", "--eval", script],
        input=json.dumps({"text": TEXT, "files": files}),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        encoding="utf-8",
    )
    folder = f"{PACKAGE.as_uri()}/"
    return {
        (address.removeprefix(folder), name, place)
        for address, name, place in json.loads(done.stdout)
        if address.startswith(folder)
    }


#: What is counted, by its words in the output.
CALLS = {
    "a sentence's text to its trace": trace_of_text,
    "capture of a BERT": capture_of_bert,
    "a sentence typed in a page": sentence_in_page,
}


def main() -> None:
    """Print how many functions each call runs, in how many files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the functions too")
    with_list = parser.parse_args().list
    for words, count in CALLS.items():
        functions = count()
        files = {file for file, _, _ in functions}
        lines = [f"{words}: {len(functions)} functions in {len(files)} files"]
        if with_list:
            lines += (f"  {file}: {name}" for file, name, _ in sorted(functions))
        sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
