"""How much room a view has on the screens that lessons are given on, and how much it takes."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Locator, Page

from tests.support.ui_jupyterlab import next_frames

_MARGINS = 40  # pixels that an exported page leaves beside its views


@dataclass(frozen=True)
class Room:
    """The pixels that a view may fill so that it is seen whole, in a window of a height."""

    width: int
    window_height: int

    @property
    def height(self) -> int:
        """What JupyterLab's bars leave of the window, as measured in JupyterLab 4.5."""
        return self.window_height - 121


#: Per window: the width of a whole exported page, and that of a cell's output in JupyterLab.
ROOMS = {
    "1280x800, page": Room(1240, 800),  # a notebook there, beside the list of files, has 848 by 800
    "1024x768, page": Room(984, 768),
    "1024x768, notebook": Room(844, 768),
}
PHONE = Room(350, 844)
NARROW = Room(280, 640)  # the narrowest phone, or a laptop at zoom 400%


@dataclass(frozen=True)
class Size:
    """What a view takes: its height, and the pixels by which its page is too wide, both in pixels."""

    height: int
    too_wide: int


def sizes_of(root: Locator, rooms: dict[str, Room]) -> dict[str, Size]:
    """Return the size of a view of an exported page in each room."""
    sizes = {}
    for name, room in rooms.items():
        root.page.set_viewport_size({"width": room.width + _MARGINS, "height": room.window_height})
        next_frames(root)
        next_frames(root)  # the frame in which the new width is seen, and the one that is drawn for it
        height, too_wide = root.evaluate(
            """(view) => [
                view.getBoundingClientRect().height,
                document.documentElement.scrollWidth - innerWidth,
            ]"""
        )
        sizes[name] = Size(round(height), too_wide)
    return sizes


def wait_until_whole(page: Page) -> None:
    """Wait until a presented view is as high as the screen, and is seen whole."""
    page.wait_for_function(
        """() => {
            const root = document.querySelector(".vt-presenting");
            const { bottom } = root.lastElementChild.getBoundingClientRect();
            return Math.abs(bottom - innerHeight) <= 1 && root.scrollHeight <= root.clientHeight;
        }"""
    )
