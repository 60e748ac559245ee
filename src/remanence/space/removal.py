"""Forgetting, which can be taken back, and permanent erasure, with a certificate of what was erased."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from remanence.errors import InvalidInput
from remanence.hooks import step
from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread
from remanence.remember import forget as forgetting
from remanence.schema import Entity, ErasureCertificate, Memory
from remanence.space.certificates import certify
from remanence.space.subject_erasure import SubjectErasure, erase_about
from remanence.space.view import View


class MemoryRemoval(View):
    """The methods of a space that hide memories, bring them back, or erase them."""

    @step("delete_memory")
    def forget(self, id: str | Memory, why: str | None = None, *, with_related: bool = False) -> None:
        """Hide a memory from now on. It stays in views of the past, and `unforget` brings it back.

        Args:
            with_related: Also the texts that it was found in, and the facts that were found in it alone.

        Raises:
            NotFound: This space has no such memory, or its text was erased.
        """
        self.forget_many([id], why, with_related=with_related)

    @step("delete_memory")
    def forget_many(self, ids: Iterable[str | Memory], why: str | None = None, *, with_related: bool = False) -> int:
        """Hide these memories in one transaction.

        Args:
            with_related: Also the texts that they were found in, and the facts that were found in them alone.

        Returns:
            How many were not forgotten before.

        Raises:
            NotFound: One of them is not in this space. None is hidden then.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     added = space.add_many(["Alice drinks tea.", "Bob drinks water."])
            ...     space.forget_many(added, why="they asked"), space.count()
            (2, 0)
        """
        checked, reason = inputs.check_memory_ids(ids), inputs.check_reason(why)
        return forgetting.forget_many(self._engine, self.name, checked, reason, with_related=with_related)

    @step("update_memory")
    def unforget(self, id: str | Memory, *, with_related: bool = False) -> None:
        """Bring back a memory that was forgotten or archived. A visible memory stays as it is.

        Args:
            with_related: Also the texts that it was found in, and the facts that were found in it alone.

        Raises:
            NotFound: This space has no such memory, or its text was erased.
        """
        forgetting.unforget(self._engine, self.name, [inputs.check_memory_id(id)], with_related=with_related)

    @step("delete_memory")
    def erase(self, id: str | Memory, *, with_related: bool = False) -> ErasureCertificate:
        """Remove the text of a memory for good, from the past and from every file.

        Facts that were found in it alone are erased with it, as are recorded recalls that returned it. The ledger
        entries stay, without their text, so that `verify` still succeeds.

        Args:
            with_related: Also the texts that it was found in, and with them what was found in those alone.

        Returns:
            What was erased, and what is not gone yet and when it will be.

        Raises:
            NotFound: This space has no such memory.
        """
        return self.erase_many([id], with_related=with_related)

    @step("delete_memory")
    def erase_many(self, ids: Iterable[str | Memory], *, with_related: bool = False) -> ErasureCertificate:
        """Erase these memories in one transaction, as `erase` does one.

        Args:
            with_related: Also the texts that they were found in, and with them what was found in those alone.

        Returns:
            What was erased, and what is not removed yet. See `erase`.

        Raises:
            NotFound: One of them is not in this space. None is erased then.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     added = space.add_many(["Alice drinks tea.", "Bob drinks water."])
            ...     len(space.erase_many(added)), space.count()
            (2, 0)
        """
        engine, checked = self._engine, inputs.check_memory_ids(ids)
        erase = partial(forgetting.erase, engine, ids=checked, with_related=with_related)
        return certify(engine, self.name, [self.name], erase)

    def erase_about(self, subject: str | Entity, *, dry_run: bool = False, children: bool = False) -> SubjectErasure:
        """Erase everything about a person or a thing: what names it, by any of its names, what it said, the facts found
        in that alone, relations, its names as an entity, and recorded recalls that ask about it or returned these.

        Args:
            subject: A name, which means everybody who has it. If two have the same name, the entity or its id: then
                only what mentions that one.
            dry_run: True only lists what would go, by memory and why.
            children: Whether the spaces below this one are searched, too, such as the windows of adapters.

        Returns:
            What was found, which prints as a table, and `certificate`. It is erased already, unless `dry_run` is True.

        Raises:
            InvalidInput: `subject` is blank, or the user.
            NotFound: There is no entity with this id.
        """
        name = subject.id if isinstance(subject, Entity) else inputs.check_text(subject, "subject")
        if not name.strip():
            raise InvalidInput(f"subject={subject!r} is blank. Give a name, or the id of an entity.")
        below = [each for each in self.admin._space_names() if each != self.name]
        names = [self.name, *(below if children else [])]
        left_out = 0 if children else sum("%" not in each.removeprefix(self.name) for each in below)
        return erase_about(self._engine, self.name, name.strip(), names, dry_run=dry_run, left_out=left_out)

    @step("delete_memory_store")
    def erase_space(self) -> ErasureCertificate:
        """Erase everything in this space and in the spaces below it, such as the windows and stores of adapters.

        Memories, their history, entities, relations, jobs and recorded recalls lose their text, and the space is no
        longer listed. Its name stays in the ledger. The space can be used again, and is empty then.

        Returns:
            What was erased, in all of these spaces.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     bob = space.child("users", "bob")
            ...     _ = bob.add("I am allergic to peanuts.")
            ...     len(bob.erase_space()), space.spaces()
            (1, [])
        """
        # The space itself last: if this process is killed, the space is still listed, and the call can be repeated.
        deepest_first = sorted(self.admin._space_names(), key=lambda name: (-name.count("/"), name))
        erase = partial(forgetting.erase_space, self._engine)
        return certify(self._engine, self.name, deepest_first, erase, rewrite=True)

    aforget = in_thread(forget)
    aforget_many = in_thread(forget_many)
    aunforget = in_thread(unforget)
    aerase = in_thread(erase)
    aerase_many = in_thread(erase_many)
    aerase_about = in_thread(erase_about)
    aerase_space = in_thread(erase_space)
