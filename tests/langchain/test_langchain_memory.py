"""Memory for the chains of langchain-classic."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_classic.base_memory import BaseMemory
from langchain_classic.chains import ConversationChain, LLMChain
from langchain_classic.memory import CombinedMemory, ConversationBufferMemory
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_models import Actor
from pydantic import BaseModel, ValidationError

from framed import recalled
from langchain_remanence import RemanenceChatMessageHistory, RemanenceMemory
from remanence import Space
from remanence.testing import FakeClock

pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")


def test_a_conversation_chain_remembers(space: Space) -> None:
    """Drop-in: its own prompt, what is relevant from long ago, and the last turns as they were."""
    space.add("Ana is allergic to hazelnuts.", source="email")
    model = Actor(lines=["Hello Ana.", "No hazelnuts."])
    chain = ConversationChain(llm=model, memory=RemanenceMemory(space=space))
    chain.invoke({"input": "Hi, this is Ana."})
    answer = chain.invoke({"input": "What must Ana never eat: hazelnuts?"})

    prompt = model.prompts[1][0].text
    assert answer["response"] == "No hazelnuts."
    assert [memory["text"] for memory in recalled(prompt)] == ["Ana is allergic to hazelnuts."]
    assert "Human: Hi, this is Ana.\nAI: Hello Ana." in prompt
    assert [memory.text for memory in space.memories()] == [
        "Ana is allergic to hazelnuts.",
        "Hi, this is Ana.",
        "Hello Ana.",
        "What must Ana never eat: hazelnuts?",
        "No hazelnuts.",
    ]


async def test_an_llm_chain_remembers_in_a_loop_and_with_messages(space: Space) -> None:
    """`return_messages` gives messages for a placeholder; the a-verbs do what the others do."""
    model = Actor(lines=["Noted.", "Porto."])
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{question}")])
    memory = RemanenceMemory(space=space, return_messages=True, window=1)
    chain = LLMChain(llm=model, prompt=prompt, memory=memory)
    await chain.ainvoke({"question": "I live in Porto."})
    answer = await chain.ainvoke({"question": "Where do I live?"})

    assert answer["text"] == "Porto."
    block, reply, question = model.prompts[1]
    assert (block.type, reply.text, question.text) == ("system", "Noted.", "Where do I live?")
    assert [memory["text"] for memory in recalled(block.text)] == ["I live in Porto."]


def test_beside_a_buffer_in_a_combined_memory(space: Space) -> None:
    """The buffer for the chat, ours for the long run."""
    space.add("Ana lives in Porto.")
    ours = RemanenceMemory(space=space, memory_key="recall", input_key="input", window=0)
    both = CombinedMemory(memories=[ConversationBufferMemory(input_key="input"), ours])
    prompt = PromptTemplate.from_template("{recall}\n{history}\nHuman: {input}")
    model = Actor(lines=["In Porto.", "Yes."])
    chain = LLMChain(llm=model, prompt=prompt, memory=both)
    chain.invoke({"input": "Where does Ana live?"})
    chain.invoke({"input": "Really?"})

    assert recalled(model.prompts[0][0].text)[0]["text"] == "Ana lives in Porto."
    assert "Human: Where does Ana live?\nAI: In Porto." in model.prompts[1][0].text


def test_only_what_was_said_is_saved(space: Space) -> None:
    """Chains hand back the loaded variables with the inputs: recalled text is not remembered again."""
    memory = RemanenceMemory(space=space)
    memory.save_context({"input": "Hi.", "history": "what was recalled", "stop": ["\n"]}, {"response": "Hello."})

    assert [memory.text for memory in space.memories()] == ["Hi.", "Hello."]


def test_the_window_is_not_said_twice(space: Space) -> None:
    """What stands in the window as a message is not quoted as a memory as well."""
    memory = RemanenceMemory(space=space, window=2)
    memory.save_context({"input": "Ana lives in Porto."}, {"output": "Nice."})
    memory.save_context({"input": "Ana lives in Porto, I said."}, {"output": "Yes, Ana does."})
    loaded = memory.load_memory_variables({"input": "Where does Ana live?"})["history"]

    assert loaded.count("Ana lives in Porto.") == 1, "alone, or as the turn before its answer"
    assert loaded.endswith("Human: Ana lives in Porto, I said.\nAI: Yes, Ana does.")
    assert loaded.count("I said") == 1


def test_the_window_takes_no_room_from_what_is_quoted(space: Space) -> None:
    """Where the last messages are the best hits, what comes next is quoted, although the budget is one line."""
    space.add("Ana has a cat.")
    memory = RemanenceMemory(space=space, window=2, max_tokens=40)
    memory.save_context({"input": "Ana lives in Porto."}, {"output": "So Ana lives in Porto."})
    loaded = memory.load_memory_variables({"input": "Ana lives in Porto, does she?"})["history"]

    assert [memory["text"] for memory in recalled(loaded)] == ["Ana has a cat."]


@pytest.mark.parametrize("given", [{}, {"input": "Hello?"}])
def test_an_empty_memory_loads_as_nothing(space: Space, given: dict[str, str]) -> None:
    """With no heading over it."""
    assert RemanenceMemory(space=space).load_memory_variables(given) == {"history": ""}
    assert RemanenceMemory(space=space, return_messages=True).load_memory_variables(given) == {"history": []}


def test_the_speakers_are_called_what_the_prompt_calls_them(space: Space) -> None:
    """`human_prefix` and `ai_prefix`, as with LangChain's own memories."""
    ours = RemanenceMemory(space=space, human_prefix="Guest", ai_prefix="Cook")
    theirs = ConversationBufferMemory(human_prefix="Guest", ai_prefix="Cook")
    for memory in (ours, theirs):
        memory.save_context({"input": "No nuts, please."}, {"output": "Noted."})

    assert ours.load_memory_variables({}) == {"history": "Guest: No nuts, please.\nCook: Noted."}
    assert ours.load_memory_variables({}) == theirs.load_memory_variables({})


def test_a_setting_that_is_not_there_is_refused(space: Space) -> None:
    """By name: one that is misspelt would set nothing."""
    with pytest.raises(ValidationError, match=r"RemanenceMemory\nsession\n  Extra inputs are not permitted"):
        RemanenceMemory(space=space, session="monday")  # type: ignore[call-arg]


def test_without_an_input_the_last_messages_are_given(space: Space) -> None:
    """As people look into a memory by hand. A window that is wider than the chat shows all of it."""
    for number in range(3):
        RemanenceMemory(space=space).save_context({"input": f"q{number}"}, {"output": f"a{number}"})
    said = [kind(f"{letter}{n}") for n in range(3) for kind, letter in ((HumanMessage, "q"), (AIMessage, "a"))]

    for window in range(10):
        memory = RemanenceMemory(space=space, return_messages=True, window=window)
        loaded = memory.load_memory_variables({})["history"]
        assert loaded == said[max(6 - window, 0) :]
        assert not any(isinstance(message, SystemMessage) for message in loaded)


@pytest.mark.parametrize(
    ("inputs", "outputs", "keys"),
    [
        ({"a": "x", "b": "y"}, {"output": "z"}, {}),
        ({}, {"output": "z"}, {}),
        ({"a": "x"}, {"one": "1", "two": "2"}, {}),
        ({"a": "x", "b": "y"}, {"output": "z"}, {"input_key": "b"}),
        ({"a": "x", "history": "h", "stop": "s"}, {"output": "1", "two": "2"}, {}),
        ({"a": "x"}, {"one": "1", "two": "2"}, {"output_key": "two"}),
    ],
)
@pytest.mark.filterwarnings("ignore:.*output.*:UserWarning")
def test_the_keys_are_chosen_as_langchain_s_own_memory_chooses_them(
    space: Space, inputs: dict[str, Any], outputs: dict[str, str], keys: dict[str, str]
) -> None:
    """The same messages, or a ValueError from both."""
    theirs = ConversationBufferMemory(return_messages=True, **keys)
    ours = RemanenceMemory(space=space, return_messages=True, **keys)

    assert _saved(ours, inputs, outputs) == _saved(theirs, inputs, outputs)


def test_which_key_is_doubtful_is_said_with_the_way_out(space: Space) -> None:
    """Ours names the keys and the setting."""
    with pytest.raises(ValueError, match=r"\['a', 'b'\]\. Set input_key"):
        RemanenceMemory(space=space).load_memory_variables({"a": "x", "b": "y"})
    with pytest.warns(UserWarning, match="'output' is stored"):
        RemanenceMemory(space=space).save_context({"a": "x"}, {"output": "1", "two": "2"})


async def test_clearing_empties_the_history_and_keeps_the_memories(space: Space, clock: FakeClock) -> None:
    """What the chat told is still known, here and in other chats. Other histories stay, and the past has this one."""
    monday, tuesday = (RemanenceMemory(space=space, session_id=day) for day in ("monday", "tuesday"))
    for memory in (monday, tuesday):
        await memory.asave_context({"input": f"I met Ana on {memory.session_id}."}, {"output": "Hi."})
    known, before = list(space.memories()), clock.now()
    clock.advance(hours=1)
    await monday.aclear()
    monday.save_context({"input": "Good morning."}, {"output": "Hello."})
    monday.clear()

    assert (await monday.aload_memory_variables({}))["history"] == ""
    assert "tuesday" in (await tuesday.aload_memory_variables({}))["history"]
    monday.save_context({"input": "Back again."}, {"output": "Welcome."})
    history = RemanenceChatMessageHistory(space, "monday")
    assert [message.text for message in history.messages] == ["Back again.", "Welcome."]
    assert [session.message_count for session in history.sessions()] == [2, 2]
    assert len(RemanenceChatMessageHistory(space.as_of(before), "monday").messages) == 2

    assert [memory for memory in space.memories() if memory.id in {each.id for each in known}] == known
    assert space.recall("Whom did I meet on Monday?")[0].memory.text == "I met Ana on monday."
    assert "cleared" not in str(space.recall("history cleared"))
    history.erase_session("monday")
    assert [memory.text for memory in space.memories()] == ["I met Ana on tuesday.", "Hi."]


def test_a_cleared_history_expires_as_before(space: Space, clock: FakeClock) -> None:
    """Its messages are erased so long after the last of them, although they are no longer listed."""
    history = RemanenceChatMessageHistory(space, "monday", ttl=60)
    history.add_user_message("I met Ana.")
    RemanenceMemory(space=space, session_id="monday").clear()
    clock.advance(minutes=2)

    assert (history.sessions(), history.sweep_ttl(), space.count()) == ([], 1, 0)


def test_the_quoted_part_keeps_to_its_budget(space: Space) -> None:
    """By the caller's own count."""
    space.add_many([{"text": f"Ana owns book number {number}."} for number in range(20)])
    memory = RemanenceMemory(space=space, max_tokens=120, count_tokens=lambda text: len(text.split()))

    loaded = memory.load_memory_variables({"input": "Which books does Ana own?"})["history"]
    assert 1 < len(recalled(loaded)) < 20
    assert len(loaded.split()) <= 120
    flat = RemanenceMemory(space=space, max_tokens=21, count_tokens=lambda text: 1)
    assert len(recalled(flat.load_memory_variables({"input": "Which books does Ana own?"})["history"])) == 20


def _saved(memory: BaseMemory, inputs: dict[str, Any], outputs: dict[str, str]) -> Any:
    try:
        memory.save_context(inputs, outputs)
    except ValueError:
        return ValueError
    return memory.load_memory_variables({})


def test_structured_output_is_saved_as_its_json(space: Space) -> None:
    """Of a model or a parser that answers with an object."""

    class City(BaseModel):
        city: str

    memory = RemanenceMemory(space=space)
    memory.save_context({"input": "Where?"}, {"output": City(city="Porto")})  # type: ignore[dict-item]
    memory.save_context({"input": "And?"}, {"output": {"city": "Faro"}})  # type: ignore[dict-item]

    assert [memory.text for memory in space.memories()] == ["Where?", '{"city": "Porto"}', "And?", '{"city": "Faro"}']


def test_a_question_over_the_limit_is_recalled_for_by_its_beginning(space: Space) -> None:
    """A chain must not fail because of what was pasted into it."""
    space.add("Ana is allergic to hazelnuts.")
    loaded = RemanenceMemory(space=space).load_memory_variables({"input": "Ana is allergic? " + "x" * 2_000_000})

    assert "hazelnuts" in loaded["history"]


def test_keep_chooses_which_messages_of_other_sessions_are_loaded(space: Space) -> None:
    """All of them are stored, as a session is made of them."""
    monday = RemanenceMemory(space=space, session_id="monday")
    monday.save_context({"input": "I live in Porto."}, {"output": "You live near six bridges then."})
    loaded = {
        keep: RemanenceMemory(space=space, session_id="tuesday", keep=keep).load_memory_variables(
            {"input": "Where do I live?"}
        )["history"]
        for keep in ("all", "user", None)
    }

    assert "bridges" in loaded["all"]
    assert "I live in Porto." in loaded["user"]
    assert "bridges" not in loaded["user"]
    assert loaded[None] == ""
    with pytest.raises(ValidationError, match="keep='some'"):
        RemanenceMemory(space=space, keep="some")
