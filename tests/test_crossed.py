"""The functions that a call runs are counted each once, by their file and place."""

from __future__ import annotations

from functools import cache
from threading import Thread

from tools.crossed import CALLS, functions_run
from viz_transformer._text import is_mark, join_tokens

joined_once = cache(lambda: join_tokens(("the", "cat", ".")))


def test_the_second_call_is_counted_with_its_threads_and_without_lambdas() -> None:
    def call() -> None:
        joined_once()
        for token in ".,":
            thread = Thread(target=is_mark, args=(token, ".,"))
            thread.start()
            thread.join()

    assert [found[:2] for found in functions_run(call)] == [("_text.py", "is_mark")]


def test_a_trace_runs_the_model_and_a_page_the_engine() -> None:
    trace, _, page = (count() for count in CALLS.values())
    assert {file for file, name, _ in trace if name.endswith(".forward")} >= {"model/transformer.py"}
    assert {name for file, name, _ in page if file == "engine/answers/translation_lab.ts"} == {
        "answerTranslationLab"
    }
