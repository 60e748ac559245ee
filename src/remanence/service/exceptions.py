"""Exceptions over HTTP: the status of each class, and the class that a status and a name stand for."""

from __future__ import annotations

from remanence import errors
from remanence.errors import RemanenceError

_STATUS: dict[type[RemanenceError], int] = {
    errors.InvalidInput: 422,
    errors.NotFound: 404,
    errors.AccessDenied: 403,
    errors.InvalidToken: 401,
    errors.JobFailed: 409,
    errors.TooManyRequests: 429,
    errors.Closed: 503,
    errors.LedgerUnavailable: 503,
    errors.EmbedderUnavailable: 503,
    errors.InvalidEmbedding: 502,
    errors.ExtractorError: 504,
    errors.ProjectionUnavailable: 503,
    errors.ProjectionStale: 409,
    errors.MissingExtra: 501,
    RemanenceError: 500,
}


def http_status(error: RemanenceError) -> int:
    """The HTTP status of an exception: that of its class, or of the nearest one above it.

    >>> http_status(errors.NotFound("no such memory")), http_status(errors.LedgerCorrupt("damaged"))
    (404, 500)
    """
    return next(_STATUS[class_] for class_ in type(error).__mro__ if class_ in _STATUS)


def exception_from_response(
    name: str | None, message: str, status: int, position: int | None, retry_after: float = 0.0
) -> RemanenceError:
    """The exception with this name, as the server raised it; without a known name, one that fits the status.

    >>> exception_from_response("NotFound", "no such memory", 404, None)
    NotFound('no such memory')
    >>> exception_from_response(None, "no such route", 404, None)
    RemanenceError('no such route')
    """
    error_class = getattr(errors, name or "", None)
    if error_class is errors.LedgerTampered:
        return errors.LedgerTampered(message, position=position or 0)
    if status == 429:
        return errors.TooManyRequests(message, retry_after=retry_after)
    if isinstance(error_class, type) and issubclass(error_class, RemanenceError):
        return error_class(message)
    if status in (401, 403):
        return errors.InvalidToken(message) if status == 401 else errors.AccessDenied(message)
    if status in (422, 400):
        return errors.InvalidInput(message)
    return errors.LedgerUnavailable(message) if status == 503 else RemanenceError(message)
