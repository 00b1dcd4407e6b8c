"""The built site in a headless Chromium: what it draws, finds, and fits on a narrow screen."""

from __future__ import annotations

import contextlib
import functools
import http.server
import importlib.util
import shutil
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.docs.site.html import Site

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
NARROW, WIDE = 360, 1280
PICTURES = """
return [...document.images].filter(i => (i.loading = "eager", !(i.complete && i.naturalWidth > 0))).map(i => i.src)
"""
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
HEIGHT = "return document.documentElement.scrollHeight"
MOST = 40_000
"""Height of a page of the reference on a narrow screen [pixels]."""
CELLS = "return [...document.querySelectorAll('article table.docutils td')].map(t => getComputedStyle(t).display)"
EQUATIONS = "return [...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().height)"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None: ...


@pytest.fixture(scope="module")
def address(site: Site) -> Iterator[str]:
    """Where the site is served, on this machine only."""
    handler = functools.partial(Quiet, directory=str(site.folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(site: Site, unavailable: Callable[[str], object]) -> Iterator[Any]:
    if importlib.util.find_spec("selenium") is None:
        unavailable("selenium drives the browser, and is not installed")
    from selenium import webdriver

    program, driver = next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which("chromedriver")
    if not program or not driver:
        unavailable("no browser: chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    opened.set_page_load_timeout(120)
    yield opened
    opened.quit()


def resize(browser: Any, width: int) -> None:
    """Set the width of the page, scroll bar included; a window would not get that narrow."""
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)


def waited(browser: Any, script: str, wanted: Any, seconds: float = 60.0) -> Any:
    """Return what a script returns once it is as wanted, or at the end of the time."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.ui import WebDriverWait

    found: list[Any] = []

    def ready(driver: Any) -> bool:
        found.append(driver.execute_script(script))
        return bool(wanted(found[-1]))

    with contextlib.suppress(TimeoutException):
        WebDriverWait(browser, seconds, 0.1).until(ready)
    return found[-1]


def test_no_page_scrolls_sideways_and_every_picture_is_drawn(browser: Any, address: str, site: Site) -> None:
    resize(browser, NARROW)
    wide, undrawn, flat, long = {}, {}, {}, {}
    for path in site.pages:
        name = path.relative_to(site.folder).as_posix()
        browser.get(f"{address}/{name}")
        if missing := waited(browser, PICTURES, lambda found: not found, 20.0):
            undrawn[name] = missing
        if (over := browser.execute_script(OVERFLOW)) > 0:
            wide[name] = over
        if low := [height for height in browser.execute_script(EQUATIONS) if height < 5.0]:
            flat[name] = low
        if name.startswith("api/") and (height := browser.execute_script(HEIGHT)) > MOST:
            long[name] = height
        if any(shown != "block" for shown in browser.execute_script(CELLS)):
            wide[name] = "cells beside one another"
    assert not wide and not undrawn and not flat and not long


def test_search_finds_a_class_and_an_id(browser: Any, address: str) -> None:
    resize(browser, WIDE)
    results = "return [...document.querySelectorAll('#search-results li a')].map(a => a.href)"
    for word, page in (("PBDCloth", "environments/PBDCloth-v0.html"), ("add_soft_body", "api/pbd_gym/Scene.html")):
        browser.get(f"{address}/search.html?q={word}")
        found = waited(browser, results, lambda links, page=page: any(page in link for link in links))
        assert any(page in link for link in found), (word, found)


def test_pages_report_no_errors(browser: Any, address: str) -> None:
    """Guards scripts and styles, which a page can lack without a word to the reader."""
    for name in ("index", "engine", "custom_constraints", "environments/PBDClothFold-v0", "api/pbd_gym/Scene"):
        browser.get(f"{address}/{name}.html")
        severe = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
        assert not [message for message in severe if "favicon" not in message]


def test_the_cloth_of_the_front_is_dragged_and_pinned(browser: Any, address: str) -> None:
    """It runs, follows the mouse, and takes numbers in their units; nothing of it comes from elsewhere."""
    from selenium.webdriver.common.action_chains import ActionChains

    resize(browser, WIDE)
    browser.get(f"{address}/index.html")
    assert browser.execute_script("return document.querySelector('iframe.live').contentDocument.title")
    browser.get(f"{address}/live/cloth.html")
    seconds = "return parseFloat(document.getElementById('first').textContent)"
    assert waited(browser, seconds, lambda time: time > 0.5) > 0.5
    canvas = browser.find_element("id", "picture")
    pinned = "return window.live.cloth().pinned.reduce((sum, one) => sum + one, 0)"
    place = "const c = window.live.cloth(); return [...c.x.slice(-3)]"
    assert browser.execute_script(pinned) == 2
    pixel = "return window.live.pixel(window.live.cloth().count - 1)"
    browser.execute_script("document.getElementById('pause').click()")
    before, (x, y) = browser.execute_script(place), browser.execute_script(pixel)
    middle = [canvas.size[side] / 2 for side in ("width", "height")]
    chain = ActionChains(browser).move_to_element_with_offset(canvas, round(x - middle[0]), round(y - middle[1]))
    chain.click_and_hold().move_by_offset(60, -80).perform()
    for _ in range(20):
        browser.execute_script("document.getElementById('step').click()")
    there = browser.execute_script(pixel)
    assert abs(there[0] - x - 60) < 3 and abs(there[1] - y + 80) < 3
    assert browser.execute_script(place) != before
    ActionChains(browser).release().perform()
    script = "const s = document.getElementById('dial-density'); s.value = Math.log10(arguments[0]); s.oninput();"
    browser.execute_script(script, 2.0)
    assert browser.execute_script("return document.querySelector('#dial-density').previousSibling.value") == "2"
    browser.execute_script("document.getElementById('drop').click()")
    assert browser.execute_script(pinned) == 0
    severe = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert not [message for message in severe if "favicon" not in message]
