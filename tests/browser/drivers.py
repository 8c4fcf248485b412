"""A real browser without a window: Chromium by its driver, where both are installed."""

import shutil
import subprocess
import sys
import time

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing():
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed (pip install 'bayespoint[dev]')"
    if not any(map(shutil.which, BROWSERS)):
        return "there is no Chromium (apt-get install chromium chromium-driver)"
    return None if shutil.which("chromedriver") else "there is no chromedriver (apt-get install chromium-driver)"


@pytest.fixture
def browsers():
    """Makes browsers, and closes them."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    opened = []

    def open_one(width=1200, height=900):
        options = Options()
        options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},{height}"):
            options.add_argument(argument)
        if width < 500:  # narrower than a window can be
            metrics = {"width": width, "height": height, "pixelRatio": 1}
            options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        opened.append(webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver"))))
        return opened[-1]

    yield open_one
    for browser in opened:
        browser.quit()


class Labelling:
    """``bayespoint label`` in a process of its own, which may be killed."""

    def __init__(self, home, *arguments):
        self.home, self.arguments, self.process = home, arguments, None

    def start(self):
        code = "import sys; from bayespoint.cli import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", code, "label", "pool.csv", *self.arguments]
        log = (self.home / "log").open("w")
        self.process = subprocess.Popen(command, cwd=self.home, stdout=log, stderr=subprocess.STDOUT)
        log.close()
        limit = time.monotonic() + 120
        while "Ctrl-C" not in (text := (self.home / "log").read_text()):
            assert self.process.poll() is None, text
            assert time.monotonic() < limit
            time.sleep(0.1)
        lines = [line.partition(": ") for line in text.splitlines() if "http://" in line]
        return {name: address for name, _, address in lines}

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def labelling(tmp_path):
    made = []

    def make(*arguments):
        made.append(Labelling(tmp_path, *arguments))
        return made[-1]

    yield make
    for one in made:
        if one.process is not None:
            one.kill()
