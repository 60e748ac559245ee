"""Tests that look for a word in files see all that was written into them."""

from __future__ import annotations

from pathlib import Path

from file_contents import content, contents


def test_what_was_written_is_read_and_the_holes_are_not(tmp_path: Path) -> None:
    """At the beginning, amid a file and at its end, also where nothing follows but a hole."""
    file = tmp_path / "below" / "sparse"
    file.parent.mkdir()
    with file.open("wb") as sparse:
        for place in (0, 5_000_000, 9_999_990):
            sparse.seek(place)
            sparse.write(b"marmalade")
        sparse.truncate(20_000_000)
    (tmp_path / "plain").write_bytes(b"quicksilver")
    (tmp_path / "empty").touch()

    assert content(file).count(b"marmalade") == 3
    assert {path.name: b"quicksilver" in held for path, held in contents(tmp_path)} == {
        "sparse": False,
        "plain": True,
        "empty": False,
    }
