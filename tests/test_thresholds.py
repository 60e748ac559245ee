"""The thresholds on similarities fire for the embedder of the package: ten plain cases for each."""

from __future__ import annotations

import remanence
from remanence.models.embedders import sentence_embedder
from remanence.upkeep.steps.clusters import Clusters

RESTATED = [
    ("Alice prefers tea over coffee.", "Alice would rather drink tea than coffee."),
    ("The office closes at six on Fridays.", "On Fridays the office shuts at six."),
    ("Our dog Pepper is allergic to chicken.", "Pepper, our dog, has a chicken allergy."),
    ("I park the car on level three.", "My car is parked on level three."),
    ("The team meets every Monday at nine.", "There is a team meeting every Monday at nine."),
    ("Deploys go out from the main branch.", "We deploy from the main branch."),
    ("Bruno works as a nurse at St Mary's.", "Bruno is a nurse at St Mary's hospital."),
    ("The spare key is under the blue flower pot.", "We keep the spare key under the blue flowerpot."),
    ("My sister Clara lives in Lyon.", "Clara, my sister, lives in Lyon."),
    ("Invoices are sent on the first of the month.", "We send invoices on the first day of each month."),
]
NAMED = [
    ("Which river do they row on?", "River Thames Rowing Club"),
    ("What happened at the hospital?", "St Mary's Hospital"),
    ("Who plays the piano?", "Steinway Hall"),
    ("Where do we bank?", "Barclays Bank"),
    ("What do we use as a database?", "PostgreSQL"),
    ("Which airline did we fly with?", "British Airways"),
    ("What is going on at the bakery?", "Golden Crust Bakery"),
    ("How is the school?", "Greenfield Primary School"),
    ("When does the museum open?", "Rijksmuseum"),
    ("Which gym do I go to?", "Iron House Gym"),
]
TOLD = [
    ("I'm allergic to walnuts.", {"food", "health"}),
    ("My sister Clara has two sons.", {"people"}),
    ("I work as a nurse at St Mary's.", {"work"}),
    ("I play the cello on Sundays.", {"hobbies"}),
    ("I moved to Porto in March.", {"home"}),
    ("I drive a red Volvo.", {"transport", "things"}),
    ("Our dog is called Pepper.", {"pets"}),
    ("I'm saving for a house.", {"money", "plans"}),
    ("I'm a vegetarian.", {"food"}),
    ("I want to run a marathon next spring.", {"hobbies", "plans"}),
]


def pairs(found: Clusters) -> set[frozenset[str]]:
    return {frozenset((pair.first.text, pair.second.text)) for pair in found.pairs}


def test_what_is_said_again_is_a_cluster_and_most_of_it_a_duplicate() -> None:
    with remanence.open(None, embedder=sentence_embedder(), reader=None) as space:
        space.add_many([{"text": text} for both in RESTATED for text in both])
        restated = set(map(frozenset, RESTATED))
        assert pairs(space.upkeep.clusters()) == restated
        duplicates = pairs(space.upkeep.clusters(duplicates=True))
        assert duplicates <= restated
        assert len(duplicates) >= 8
        merged = [cluster for cluster in space.upkeep.clusters() if cluster.action == "merge"]
        assert len(merged) >= 8


def test_names_near_a_question_lead_to_memories_about_them() -> None:
    """For half of the questions, and those are mostly right."""
    with remanence.open(None, embedder=sentence_embedder(), reader=None) as space:
        space.add_many([{"text": f"{name} was mentioned in passing.", "entities": [name]} for _, name in NAMED])
        right = wrong = 0
        for question, name in NAMED:
            hits = space.recall(question, limit=20)
            near = [hit for hit in hits if any("a name near the question" in own.reason for own in hit.evidence)]
            right += any(name in hit.memory.text for hit in near)
            wrong += sum(name not in hit.memory.text for hit in near)
        assert right >= 5
        assert wrong <= 5


def test_the_topics_of_a_profile_are_those_of_its_lines() -> None:
    with remanence.open(None, embedder=sentence_embedder()) as space:
        space.remember([{"role": "user", "content": text} for text, _ in TOLD])
        topics = {line.text: line.topic for line in space.profile().statements}
        right = [
            text for text, named in TOLD if any(line.startswith(text) and t in named for line, t in topics.items())
        ]
        assert len(right) >= 8
