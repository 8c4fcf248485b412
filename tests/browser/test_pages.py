"""The pages in a real browser: twenty rows by keyboard, killed in between, two people at once, nothing lost."""

import csv
import json
import time

import drivers
import numpy as np
import pytest

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.cli import main
from bayespoint.uses.tables import Frame

browsers, labelling = drivers.browsers, drivers.labelling  # fixtures
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(drivers.missing()), reason=f"No browser: {drivers.missing()}.")]
N = 60
EVIL = "<img src=x onerror=document.title='harm'>"


@pytest.fixture
def ages(tmp_path):
    ages = np.random.default_rng(0).normal(40, 12, N).round(1)
    with (tmp_path / "pool.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["age", EVIL])
        lines.writerows([age, EVIL if i % 2 else ""] for i, age in enumerate(ages))
    return ages


def until(true, seconds=60):
    limit = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < limit, "the page did not get there"
        time.sleep(0.05)
    return found


def why(browser):
    return browser.find_element("id", "why").text


def asked(browser):
    """The row that is shown, when it is there."""
    text = until(lambda: why(browser) if why(browser).startswith("row ") else "")
    return int(text.split(",")[0].removeprefix("row ")) - 1


def press(browser, key):
    browser.find_element("tag name", "body").send_keys(key)


def answer(browser, ages, flip=False):
    """By keyboard, and wait for the next question."""
    row, before = asked(browser), browser.find_element("id", "done").text
    press(browser, "1" if (ages[row] > 40) != flip else "y")
    until(lambda: browser.find_element("id", "done").text != before or asked(browser) != row)
    until(lambda: browser.find_element("id", "skip").is_enabled())
    return row


def journal(home):
    return [json.loads(line) for line in (home / "pool.csv.journal").read_text().splitlines()]


def complaints(browser):
    return [line for line in browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]


def addresses(browser):
    """All that the browser asked the network for."""
    events = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return [url for url in sent if not url.startswith("data:")]


def test_twenty_rows_by_keyboard_with_a_crash_in_between(browsers, labelling, ages, tmp_path):
    program = labelling("--classes", "old,young")
    browser = browsers()
    browser.get(url := program.start()["me"])
    rows = [answer(browser, ages) for _ in range(10)]
    press(browser, "u")  # the last was wrong
    until(lambda: asked(browser) == rows[-1])
    until(lambda: browser.find_element("id", "skip").is_enabled())
    answer(browser, ages)
    row = asked(browser)
    press(browser, "s")
    until(lambda: asked(browser) != row)
    assert complaints(browser) == []
    program.kill()  # no farewell
    until(lambda: browser.find_element("id", "skip").is_enabled())
    press(browser, "1")
    until(lambda: "does not answer" in browser.find_element("id", "say").text)
    assert sum(event["kind"] == "answer" for event in journal(tmp_path)) == 11

    browser.get(program.start()["me"])
    until(lambda: browser.find_element("id", "done").text == f"10 of {N}")
    more = [answer(browser, ages) for _ in range(10)]
    assert not set(more) & set(rows)
    assert row not in more  # skipped
    browser.find_element("id", "export").click()
    until(lambda: "20 labels in" in browser.find_element("id", "say").text)
    told = list(csv.DictReader((tmp_path / "pool.labels.csv").read_text().splitlines()))
    assert {int(line["row"]) - 1 for line in told} == {*rows, *more}
    assert all((float(line["age"]) > 40) == (line["label"] == "old") for line in told)
    model = bayespoint.load(tmp_path / "pool.labels.model")
    right = model.predict(Frame({"age": ages, EVIL: np.array([None] * N, dtype=object)})) == np.where(
        ages > 40, "old", "young"
    )
    assert right.mean() > 0.9
    home = url.split("/")[2].split(":")[0]
    assert {address.split("/")[2].split(":")[0] for address in addresses(browser)} == {home} == {"127.0.0.1"}
    assert browser.title == "Label pool.csv"  # nothing of the data was obeyed


def test_two_people_at_once(browsers, labelling, ages, tmp_path):
    found = labelling("--classes", "old,young", "--annotators", "anna,ben").start()
    anna, ben = browsers(), browsers(390, 844)
    anna.get(found["anna"])
    ben.get(found["ben"])
    assert asked(anna) != asked(ben)
    for _ in range(10):
        answer(anna, ages)
        answer(ben, ages, flip=True)
    events = [event for event in journal(tmp_path) if event["kind"] == "answer"]
    assert [sum(event["by"] == name for event in events) for name in ("anna", "ben")] == [10, 10]
    rows = {name: {event["row"] for event in events if event["by"] == name} for name in ("anna", "ben")}
    assert rows["anna"] & rows["ben"]
    count = len(rows["anna"] & rows["ben"])  # they never agree
    until(lambda: len(anna.find_elements("css selector", "#disputes li")) == count)
    disputes = anna.find_elements("css selector", "#disputes li")
    assert "anna:" in disputes[0].text
    assert "ben:" in disputes[0].text
    row = int(disputes[0].text.split()[1]) - 1
    ben_again = until(lambda: ben.find_elements("css selector", "#disputes li button"))[0]
    ben_again.click()
    until(lambda: asked(ben) == row)
    press(ben, "1" if ages[row] > 40 else "2")
    until(lambda: len(anna.find_elements("css selector", "#disputes li")) == count - 1)
    assert complaints(anna) == complaints(ben) == []
    assert ben.execute_script("return document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("size", [(1200, 900), (390, 844)], ids=["desktop", "phone"])
def test_the_report(browsers, tmp_path, ages, size):
    labels = np.where(ages + np.random.default_rng(1).normal(0, 5, N) > 40, "old", "young")
    frame = Frame({"age": ages, EVIL: np.array([EVIL, "b"] * (N // 2), dtype=object)})
    model = BayesPointClassifier(None, random_state=0).fit(frame, labels)
    columns = [column._asdict() for column in frame.types]
    bayespoint.save(model, tmp_path / "m", notes={"target": "y", "columns": columns})
    with (tmp_path / "data.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([*frame.columns, "y"])
        lines.writerows([*frame.row(i).values(), labels[i]] for i in range(N))
    assert main(["report", str(tmp_path / "m"), str(tmp_path / "data.csv"), "-o", str(tmp_path / "r.html")]) == 0
    browser = browsers(*size)
    browser.get((tmp_path / "r.html").as_uri())
    assert complaints(browser) == []
    assert [address for address in addresses(browser) if not address.startswith("file:")] == []
    assert browser.title.startswith("Report on")
    for image in browser.find_elements("tag name", "img"):
        assert int(image.get_property("naturalWidth")) > 0
    assert browser.execute_script("return document.body.scrollWidth <= document.documentElement.clientWidth")
