"""The command line: thin calls into the package, imported only when a command needs them."""

from __future__ import annotations

import argparse
import errno
import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from viz_transformer import __version__
from viz_transformer._extras import need
from viz_transformer._files import atomic_write, check_not_input, check_unused, given_path
from viz_transformer.cli.course import FIRST_LESSON
from viz_transformer.cli.lessons import FOLDER, add_lessons, copy_lessons, tell_renumbered
from viz_transformer.cli.site import add_site
from viz_transformer.cli.training import add_training
from viz_transformer.errors import UserError

_OVERWRITE = "replace files that are there already"
#: JupyterLab's flags for its address, its token and running as root.
_ACCESS = re.compile(r"--(\w+\.)?(ip|sock|token|password|hashed_password|allow[-_]root)(=.*)?")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0, or 2 with one line on standard error if input cannot be used."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Windows gives a program whose output is kept in a file an encoding without √ and ñ. A
            # path may hold what no encoding can write.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    parser = make_parser()
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "lab":
        parser.error(f"unrecognised arguments: {' '.join(rest)}")
    options.rest = rest
    try:
        status = options.run(options)
        print(end="", flush=True)  # here, where it is known what a closed pipe means
        return status
    except UserError as error:
        print(f"viz-transformer: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if not _is_closed_pipe(error):
            raise
        # In a shell, `| head` has read what it wanted.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more as it ends
        return 128 + 13  # the exit status of a closed pipe in a shell
    except KeyboardInterrupt:
        return 130  # the exit status of Ctrl-C in a shell


def _is_closed_pipe(error: OSError) -> bool:
    """Whether nobody reads the output any more; Windows says that an argument is invalid, as of much else."""
    if error.errno != errno.EINVAL:
        return isinstance(error, BrokenPipeError)
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, with those of all commands."""
    parser = argparse.ArgumentParser(
        prog="viz-transformer",
        description="See which head of a Transformer attends where, offline.",
        epilog="No command replaces what it reads, or a file that it did not write, unless --overwrite "
        "says so; a new page may replace another page of viz_transformer. A mistake is told in one line, "
        "with exit code 2. The project's README leads to the documentation.",
    )
    parser.add_argument("--version", action="version", version=f"viz-transformer {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    translate = commands.add_parser(
        "translate", help="translate an English sentence, and draw what each head attended to"
    )
    translate.add_argument("text", help='for example "the black cat sleeps"')
    translate.add_argument("--model", metavar="DIR", help="a checkpoint folder (default: bundled)")
    translate.add_argument("--html", metavar="FILE", help="write the explorer as one offline page")
    translate.add_argument("--png", metavar="FILE", help="write all cross-attention heads as a PNG")
    translate.add_argument("--beam-width", type=int, default=4, metavar="N")
    translate.add_argument("--length-penalty", type=float, default=0.6, metavar="X")
    translate.add_argument("--overwrite", action="store_true", help=_OVERWRITE)
    translate.set_defaults(run=_translate)

    add_training(commands)

    page = commands.add_parser(
        "html",
        help="write a notebook as one offline HTML page whose views still work",
        description="Scripts, event handlers, frames, forms, style sheets and what would be fetched are "
        "left out, and named on the page. Without --execute a saved view works in the page if this version "
        "saved it; of any other its still picture is shown.",
    )
    page.add_argument("notebook", metavar="NOTEBOOK", help="the notebook; it is not changed")
    page.add_argument("--execute", action="store_true", help="run the notebook first")
    page.add_argument("-o", "--output", metavar="FILE", help="default: NOTEBOOK with .html")
    page.add_argument("--max-megabytes", type=float, default=50, metavar="N", help="default: 50")
    page.add_argument("--overwrite", action="store_true", help=_OVERWRITE)
    page.set_defaults(run=_html)

    lab = commands.add_parser(
        "lab",
        help="open the lessons in JupyterLab",
        description="Copy the lessons into a folder, without replacing those that are already there, "
        "and open the first in JupyterLab. Other options are passed on to JupyterLab.",
    )
    lab.add_argument("--folder", default=FOLDER, metavar="DIR", help=f"default: {FOLDER}")
    lab.set_defaults(run=_lab)

    add_lessons(commands)
    add_site(commands)
    return parser


def _translate(options: argparse.Namespace) -> int:
    from viz_transformer import load_translator
    from viz_transformer.checkpoint import CHECKPOINT_FILES

    model = [Path(options.model, name) for name in CHECKPOINT_FILES] if options.model else []
    for output in filter(None, (options.html, options.png)):
        check_not_input(output, *model)
    if options.png:
        check_unused(options.png, options.overwrite)
        if options.html and os.path.realpath(options.html) == os.path.realpath(options.png):
            raise UserError(f"--html and --png both name {options.png!r}; give each a name of its own")
    translator = load_translator(options.model)
    found = translator.translate(options.text, options.beam_width, options.length_penalty)
    print(found.text)
    if options.html or options.png:
        trace = translator.trace(options.text, found.tokens)
        if options.html:
            from viz_transformer import explore, export_html

            with _replacing(options.html, options.overwrite) as place:
                export_html(explore(trace), place, title=options.text)
            print(f"wrote {options.html}")
        if options.png:
            from viz_transformer.plots import plot_heads, save_figure

            print(f"wrote {save_figure(plot_heads(trace, 'cross'), options.png)}")
    return 0


def _html(options: argparse.Namespace) -> int:
    from viz_transformer.export.notebook import notebook_html

    output = options.output or given_path(options.notebook).with_suffix(".html")
    check_not_input(output, options.notebook)
    with _replacing(output, options.overwrite) as place:
        notebook_html(
            options.notebook,
            place,
            execute=options.execute,
            max_megabytes=options.max_megabytes,
            tell=print,
        )
    print(f"wrote {output}")
    return 0


def _replacing(
    path: str | os.PathLike[str], overwrite: bool
) -> AbstractContextManager[str | os.PathLike[str]]:
    """Return where to write a page: at its path, where only one of ours is replaced, or over anything."""
    return atomic_write(path) if overwrite else nullcontext(path)


def _lab(options: argparse.Namespace) -> int:
    need("jupyterlab")
    folder = copy_lessons(given_path(options.folder))
    tell_renumbered(folder)
    # JupyterHub starts this command for a learner, decides who may enter, and names the address.
    in_hub = "JUPYTERHUB_SERVICE_PREFIX" in os.environ
    command = [
        *(sys.executable, "-m", "jupyterhub.singleuser" if in_hub else "jupyterlab"),
        f"--ServerApp.root_dir={folder.resolve()}",
        f"--{'ServerApp' if in_hub else 'LabApp'}.default_url=/lab/tree/{FIRST_LESSON}",
        "--LabApp.extension_manager=readonly",
        *([] if in_hub else _flags_for_root(options.rest)),
        *options.rest,
    ]
    if sys.platform == "win32":  # exec would start a second process there and end this one
        try:
            return subprocess.run(command, check=False, env=lab_environment()).returncode
        except KeyboardInterrupt:  # Ctrl-C is the usual way to stop JupyterLab
            return 0
    # This process becomes JupyterLab, so that signals sent to it reach JupyterLab. SIGINT too, which a
    # script's background jobs inherit as ignored: else nothing would end it with the script.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], command, lab_environment())


def _flags_for_root(given: Sequence[str]) -> list[str]:
    """Return the flags with which root, the only user in most containers, can open JupyterLab.

    JupyterLab refuses to run as root by default. With these flags it does, reachable from this machine only
    and with its token, and a message says so. If the user gave such flags, none are added.
    """
    is_root = getattr(os, "geteuid", lambda: -1)() == 0  # Windows has no such function
    if not is_root or any(_ACCESS.fullmatch(flag) for flag in given):
        return []
    print(
        "viz-transformer: you are root, so JupyterLab can be reached only from this machine "
        "(127.0.0.1), with its token; to change that, add --allow-root --ip=ADDRESS",
        file=sys.stderr,
    )
    return ["--allow-root", "--ServerApp.ip=127.0.0.1"]


def lab_environment() -> dict[str, str]:
    """Return the environment that gives JupyterLab our defaults; a user's own settings win.

    It then fetches nothing, neither news nor updates nor extensions, and saves the views with a
    notebook, so that a reopened lesson shows them before it is run. Its kernels explain a
    `NameError`, as when cells are run out of order, and run torch on one thread: the lessons' models
    are small, and where a whole class shares a machine, threads that wait for each other make a
    short training very long.
    """
    ours = Path(__file__).parents[1] / "jupyter"
    others = os.environ.get("JUPYTER_CONFIG_PATH")
    path = str(ours) if others is None else os.pathsep.join([str(ours), others])
    startup = os.environ.get("PYTHONSTARTUP", str(ours / "startup.py"))
    return {
        "OMP_NUM_THREADS": "1",
        **os.environ,
        "JUPYTER_CONFIG_PATH": path,
        "PYTHONSTARTUP": startup,
    }
