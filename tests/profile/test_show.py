import pytest

from gnnlab.profile.show import Shown, duration, size, text_table


class Record(Shown):
    def table(self):
        return [("name", "bytes"), ("x < y", "4 B"), ("z", "1000 B")]

    def note(self):
        return "first & second\nline"


def test_a_record_shows_as_text():
    assert str(Record()).splitlines() == [
        "name    bytes",
        "-------------",
        "x < y     4 B",
        "z      1000 B",
        "first & second",
        "line",
    ]


def test_a_record_shows_as_html():
    html = Record()._repr_html_()
    assert "<td>x &lt; y</td><td>4 B</td>" in html
    assert "<p>first &amp; second<br>line</p>" in html


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (2**40, "1.00 TiB"), (2**51, "2048.00 TiB")],
)
def test_sizes(nbytes, text):
    assert size(nbytes) == text


@pytest.mark.parametrize(("seconds", "text"), [(0, "0.00 ns"), (60, "60.00 s"), (0.5, "500.00 ms"), (2e-5, "20.00 us")])
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_rows_of_different_lengths_are_a_mistake():
    with pytest.raises(ValueError, match="argument"):
        text_table([("a", "b"), ("c",)])
