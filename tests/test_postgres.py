"""A ledger in PostgreSQL keeps what all ledgers promise, for several machines, through cuts and restarts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remanence.ledger.postgres_ledger import PostgresLedger
from remanence.testing.ledger_contract import LedgerContract


@pytest.fixture
def ledger(database: str) -> Iterator[PostgresLedger]:
    ledger = PostgresLedger(database)
    yield ledger
    ledger.close()


class TestPostgres(LedgerContract):
    @pytest.fixture
    def ledger(self, database: str) -> Iterator[PostgresLedger]:
        ledger = PostgresLedger(database)
        yield ledger
        ledger.close()
