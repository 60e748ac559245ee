"""Claims about things: what is read in them, what is not, and what a later one closes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

import remanence
from remanence import Space
from remanence.language.fact_extraction.third_person import to_third_person
from remanence.models.extractors import RuleExtractor
from remanence.schema import Utterance
from remanence.testing import FakeClock

NOW = datetime(2026, 4, 15, tzinfo=timezone.utc)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
def space(clock: FakeClock) -> Iterator[Space]:
    with remanence.open(None, clock=clock) as space:
        yield space


def claims(text: str) -> list[str]:
    return [str(claim) for claim in RuleExtractor().extract(text, now=NOW).triples]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Stripe uses PostgreSQL.", ["Stripe —uses→ PostgreSQL"]),
        ("Shopify starts using PostgreSQL.", ["Shopify —uses→ PostgreSQL"]),
        ("billing-api runs in eu-west-1.", ["billing-api —based_in→ eu-west-1"]),
        ("The launch moved to May.", ["launch —scheduled_for→ May"]),
        ("The launch moved from March to May.", ["launch —scheduled_for→ May"]),
        (
            "Our staging cluster runs on Kubernetes 1.29 in Frankfurt.",
            ["staging cluster —runs_on→ Kubernetes 1.29", "staging cluster —based_in→ Frankfurt"],
        ),
        ("Acme uses Calendly.", ["Acme —uses→ Calendly"]),
        ("Volvo belongs to Geely.", ["Volvo —belongs_to→ Geely"]),
        ("Volvo usually ships directly to Oslo.", ["Volvo —ships_to→ Oslo"]),
        ("Grafana reads its data from Prometheus.", ["Grafana —reads_data_from→ Prometheus"]),
        ("Netflix hosts its catalogue on AWS.", ["Netflix —hosts_catalogue_on→ AWS"]),
        ("The nightly builds run on Jenkins.", ["nightly builds —runs_on→ Jenkins"]),
        ("billing-api is owned by the payments team.", ["billing-api —owned_by→ payments team"]),
        ("We moved billing-api to eu-central-1.", ["billing-api —based_in→ eu-central-1"]),
        (
            "The worker, written in Elixir, handles 900 jobs.",
            ["worker —written_in→ Elixir", "worker —handles→ 900 jobs"],
        ),
        ("Rate limit on the public API: 600 requests per minute.", ["public API —rate_limit→ 600 requests per minute"]),
        ("docs: public API rate limit lowered to 300 rpm", ["public API —rate_limit→ 300 rpm"]),
        ("The all-hands will take place at Mercer Hall.", ["all-hands —takes_place_at→ Mercer Hall"]),
        (
            "Orbit Labs has offices in Lyon and Gdansk.",
            [f"Orbit Labs —has_offices_in→ {o}" for o in ("Lyon", "Gdansk")],
        ),
        ("Quarkline acquired the startup Geolith.", ["Quarkline —acquired→ Geolith"]),
        ("Our checkout depends on the pricing service.", ["checkout —depends_on→ pricing service"]),
        ("The orders table is owned by the billing team.", ["orders table —owned_by→ billing team"]),
        ("The payment worker reads from the orders queue.", ["payment worker —reads_from→ orders queue"]),
        ("The office dog is named Bento.", ["office dog —named→ Bento"]),
        ("The project manager is called Ingrid.", ["project manager —called→ Ingrid"]),
        ("The mobile team owns the login screen.", ["mobile team —owns→ login screen"]),
        ("I switched from Slack to Teams.", ["me —switched_from→ Slack", "me —switched_to→ Teams"]),
        ("The backup goes to a bucket called acme-eu.", ["backup —goes_to→ acme-eu"]),
        ("Cron job cleanup-tmp runs on node-7.", ["cleanup-tmp —runs_on→ node-7"]),
        ("The wiki moved to Frankfurt, it's on pve-03 now.", ["wiki —based_in→ Frankfurt", "wiki —is_on→ pve-03"]),
        (
            "checkout-web depends on cart-api, which depends on Redis.",
            ["checkout-web —depends_on→ cart-api", "cart-api —depends_on→ Redis"],
        ),
        (
            "ledger-core is written in Rust, ledger-ui in TypeScript.",
            ["ledger-core —written_in→ Rust", "ledger-ui —written_in→ TypeScript"],
        ),
        ("infra standup → 09:15", ["infra standup —scheduled_for→ 09:15"]),
        ("The portal (for partners) is run by Mosaic.", ["portal —run_by→ Mosaic"]),
        ("The handbook can be found in SharePoint.", ["handbook —found_in→ SharePoint"]),
        ("Max upload size: 25 MB.", ["Max upload size —is→ 25 MB"]),
        ("We're hosting the docs on Netlify.", ["docs —runs_on→ Netlify"]),
        ("We went with Adyen for the web shop.", ["web shop —uses→ Adyen"]),
        ("There are three replicas of users-db.", ["users-db —has→ three replicas"]),
        ("Don't forget that the invoices go to billing@tidewater.no.", ["invoices —goes_to→ billing@tidewater.no"]),
        ("Vercel hosts our landing page.", ["Vercel —hosts→ landing page"]),  # the only name opens the sentence
        ("Kafka feeds the analytics warehouse.", ["Kafka —feeds→ analytics warehouse"]),
        ("Solr was dropped in favour of Typesense.", ["Solr —replaced_by→ Typesense"]),
        ("Parcels are delivered by PostNord and by GLS.", [f"Parcels —delivered_by→ {o}" for o in ("PostNord", "GLS")]),
    ],
)
def test_a_statement_about_a_thing_makes_claims(text: str, expected: list[str]) -> None:
    """Named things, identifiers and definite descriptions; active, passive, inserted, labelled."""
    assert claims(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Stripe uses PostgreSQL.",
        "billing-api runs in eu-west-1.",
        "payments-worker runs in us-east-2.",
        "The launch moved to May.",
        "etl-job writes to the warehouse table.",
        "The VPN endpoint changed to vpn2.acme.io.",
        "Our CI is hosted on Buildkite.",
        "Our main supplier is Bosch.",
        "Our wedding is on 12 June.",
        "Terraform manages our DNS.",
        "We're hosting the docs on Netlify.",
        "Moved mirror.internal over to pve-05.",
        "Snowflake costs us 3,000 dollars a month.",
        "My phone number is 555-1234.",
        "Our checkout depends on the pricing service.",
        "The office dog is named Bento.",
    ],
)
def test_a_fact_claims_of_a_thing_what_its_text_claims(text: str) -> None:
    """Under the same names, so that `add` and `remember` tell of one thing."""
    facts = RuleExtractor().facts([Utterance(text)], now=NOW).facts

    assert [str(claim) for fact in facts for claim in fact.triples] == claims(text) != []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We deployed my-service to us-west-1.", "The user and others deployed my-service to us-west-1."),
        ("I took the I-95 to Boston.", "The user took the I-95 to Boston."),
        ("The me-too button is off.", "The me-too button is off."),
    ],
)
def test_a_pronoun_inside_an_identifier_stays(text: str, expected: str) -> None:
    assert to_third_person(text, "The user") == expected


def test_a_tool_for_another_is_not_used_by_it() -> None:
    """And neither is whoever pays for something what it costs."""
    assert "Python —uses→ VS Code" not in claims("I use VS Code for Python.")
    assert claims("Snowflake costs us 3,000 dollars a month.") == ["Snowflake —costs→ 3,000 dollars a month"]


@pytest.mark.parametrize(
    "text",
    [
        "Does billing-api use Redis?",
        "If billing-api used Redis 7, latency would drop.",
        "Northwind doesn't use Salesforce.",
        "billing-api might run in eu-west-1.",
        "The team plans to move billing-api to eu-central-1.",
        "Rumour has it that Globex uses Oracle.",
        "The launch planned for May was cancelled.",
        "The chandelier adds a nice glam feel.",
        "The meeting is on Monday.",
        "Someone said the launch moved to May.",
        "Small acts of love make Alice happy.",
        "The kids love the new playground.",
        "The team won the match.",
        "The orders table was owned by the billing team.",
        "The choice depends on the weather.",
        "The studio is in the same city.",
        "The older brother is named Tom.",
        "The office dog likes the sofa.",
    ],
)
def test_questions_doubts_plans_and_talk_claim_nothing(text: str) -> None:
    """A wrong claim is worse than a missing one."""
    assert claims(text) == []


@pytest.mark.parametrize("verb", ["add", "remember"])
@pytest.mark.parametrize(
    ("old", "new", "subject", "predicate", "ended", "holds"),
    [
        ("billing-api runs in eu-west-1.", "billing-api moved to eu-central-1.",
         "billing-api", "based_in", "eu-west-1", "eu-central-1"),
        ("The launch moved to May.", "The launch slipped to June.", "launch", "scheduled_for", "May", "June"),
        ("Stripe uses PostgreSQL.", "Stripe switched to MySQL.", "Stripe", "uses", "PostgreSQL", "MySQL"),
        ("The worker runs on PostgreSQL 14.", "The worker runs on PostgreSQL 16.",
         "worker", "runs_on", "PostgreSQL 14", "PostgreSQL 16"),
        ("Rate limit on the public API: 600 rpm.", "public API rate limit lowered to 300 rpm",
         "public API", "rate_limit", "600 rpm", "300 rpm"),
    ],
)  # fmt: skip
def test_a_later_value_closes_the_earlier_one(
    space: Space, clock: FakeClock, verb: str, old: str, new: str, subject: str, predicate: str, ended: str, holds: str
) -> None:
    """In whatever words the change is told."""
    getattr(space, verb)(old)
    clock.advance(days=1)
    getattr(space, verb)(new)

    assert all(relation.valid.end is not None for relation in space.graph.when(subject, predicate, ended))
    assert any(relation.valid.end is None for relation in space.graph.when(subject, predicate, holds))


@pytest.mark.parametrize("verb", ["add", "remember"])
@pytest.mark.parametrize(
    ("old", "new", "predicate", "holds"),
    [
        ("Alice works at Google.", "Alice left Google.", "works_at", None),
        ("Alice works at Google.", "Alice left Google last week to join Stripe.", "works_at", "Stripe"),
        ("Alice works at Google.", "Alice moved from Google to Stripe.", "works_at", "Stripe"),
        ("Alice lives in Porto.", "Alice moved from Porto to Lisbon.", "lives_in", "Lisbon"),
        ("Alice studies at MIT.", "Alice graduated from MIT.", "studies_at", None),
    ],
)
def test_an_event_ends_the_state_before_it(
    space: Space, clock: FakeClock, verb: str, old: str, new: str, predicate: str, holds: str | None
) -> None:
    """Where somebody works or lives, told as what happened."""
    getattr(space, verb)(old, now="2026-01-10")
    clock.advance(days=1)
    getattr(space, verb)(new)

    now = [relation.object for relation in space.graph.when("Alice", predicate) if relation.valid.end is None]
    assert now == ([] if holds is None else [holds])


def test_an_event_in_one_batch_ends_what_stands_before_it(space: Space) -> None:
    """As with one `add` after the other; what is said of others needs no transaction of its own."""
    texts = ["Alice works at Google.", "Bob left IBM.", "Alice left Google."]
    space.add_many([{"text": text, "now": f"2026-01-0{day}"} for day, text in enumerate(texts, 1)])

    assert [str(relation.valid) for relation in space.graph.when("Alice", "works_at")] == ["2026-01-01 to 2026-01-03"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Bob plays tennis each Sunday.", ["Bob —plays→ tennis"]), ("Ana bought a Volvo in 2021.", ["Ana —has→ Volvo"])],
)
def test_the_time_of_a_claim_is_not_in_its_object(text: str, expected: list[str]) -> None:
    """How often, and in which year."""
    assert claims(text) == expected


def test_a_switch_ends_nothing_of_another_kind(space: Space, clock: FakeClock) -> None:
    """Who has another database still has the same chat."""
    space.add("Stripe uses Slack.")
    space.add("Stripe uses PostgreSQL.")
    clock.advance(days=1)
    space.add("Stripe switched to MySQL.")

    assert [relation.valid.end for relation in space.graph.when("Stripe", "uses", "Slack")] == [None]
    assert all(relation.valid.end for relation in space.graph.when("Stripe", "uses", "PostgreSQL"))


def test_a_person_s_switch_ends_no_unnamed_thing(space: Space, clock: FakeClock) -> None:
    """Whoever switched to decaf still uses a laptop."""
    space.add("Alice uses Fedora.")
    clock.advance(days=1)
    space.add("Alice switched to decaf.")

    assert [relation.valid.end for relation in space.graph.when("Alice", "uses", "Fedora")] == [None]


def test_a_switch_in_one_batch_closes_what_stands_before_it(space: Space, clock: FakeClock) -> None:
    """`add_many` gives the same relations as one `add` after the other."""
    space.add_many(["Stripe uses PostgreSQL.", "Stripe switched to MySQL."])
    clock.advance(days=1)

    assert all(relation.valid.end for relation in space.graph.when("Stripe", "uses", "PostgreSQL"))


@pytest.mark.parametrize(
    "text", ["ao signed the lease.", "We met alpha one again.", "ask the alpha people", "AO rang."]
)
def test_a_registered_alias_is_found_in_any_case(space: Space, text: str) -> None:
    """Also in lower case, and of several plain words."""
    entity = space.entities.register(
        "AlphaOne LLC", aliases=["AO", "Alpha One", "the alpha people"], kind="organization"
    )
    memory = space.add(text)

    [mention] = [each for each in memory.mentions if each.kind == "organization"]
    found = space.entities.resolve(mention.name)
    assert found is not None
    assert found.id == entity.id


def test_a_memory_is_about_the_alias_that_comes_first_in_it(space: Space) -> None:
    """Not about a name after it, which the rules find by its capital."""
    space.entities.register("AlphaOne LLC", aliases=["AO"])
    memory = space.add("AO signed the lease in Porto.")

    assert [mention.name for mention in memory.mentions] == ["AO", "Porto"]
    found = space.recall("What about AlphaOne LLC?", signals=["graph"])[0]
    assert "about AO" in found.reason
    assert "named in the question" in found.reason


def test_an_alias_that_is_an_ordinary_word_needs_its_capital(space: Space) -> None:
    """Will is not everything that will be."""
    space.entities.register("William Stone", aliases=["Will"], kind="person")

    assert not space.add("it will rain").mentions
    assert "Will" in {mention.name for mention in space.add("then Will came in").mentions}


def test_names_that_the_caller_gives_are_kept_as_they_are(space: Space) -> None:
    """Nothing is looked for besides them."""
    space.entities.register("AlphaOne LLC", aliases=["AO"])
    assert [mention.name for mention in space.add("ao and Bob", entities=["Bob"]).mentions] == ["Bob"]


def test_a_text_from_before_the_alias_keeps_its_mentions_and_is_found_by_its_words(space: Space) -> None:
    """What is stored does not change; a question by the full name looks for the alias too."""
    memory = space.add("ao signed the lease.")
    space.add("The garden is green.")
    space.entities.register("AlphaOne LLC", aliases=["AO"])

    kept = space.get(memory.id)
    assert kept is not None
    assert not kept.mentions
    assert space.recall("What did AlphaOne LLC do?")[0].memory.id == memory.id
