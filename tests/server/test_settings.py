"""What is made of session settings follows every change of them."""

from __future__ import annotations

from millpond.server.settings import SessionSettings


def made(settings: SessionSettings) -> tuple[str, int, tuple[str, ...]]:
    return settings.text_settings().timezone, settings.timeout_ms(), settings.search_path("ada")


def test_what_is_made_of_settings_follows_set_and_reset() -> None:
    settings = SessionSettings()
    plain = made(settings)
    assert plain == ("UTC", 0, ("ada", "public"))
    settings.set("timezone", "Europe/Berlin")
    settings.set("statement_timeout", "2s")
    settings.set("search_path", "a, b")
    assert made(settings) == ("Europe/Berlin", 2000, ("a", "b"))
    settings.reset_all()
    assert made(settings) == plain
    assert settings.set_startup("statement_timeout", "5")
    assert made(settings) == ("UTC", 5, ("ada", "public"))


def test_what_is_made_of_settings_follows_the_transaction() -> None:
    settings = SessionSettings()
    plain = made(settings)
    settings.begin()
    settings.set("statement_timeout", "1s", local=True)
    assert made(settings)[1] == 1000
    settings.end(committed=True)
    assert made(settings) == plain
    settings.begin()
    settings.set("timezone", "Asia/Tokyo")
    assert made(settings)[0] == "Asia/Tokyo"
    settings.end(committed=False)
    assert made(settings) == plain
