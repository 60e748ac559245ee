"""Which sentences are in a language that the rules do not read: they read English."""

from __future__ import annotations

import re

from remanence.language.rules.lexicon import word_set

_FOREIGN = word_set("""
ich bist ist sind wir ihr sie mich mir dich dir uns mein meine meinen meiner meinem dein deine sein seine
unser unsere das dem des ein eine einen einem einer und oder aber nicht kein keine auch noch schon nur sehr
mit bei nach zu zum zur vom für über unter zwischen seit bis wenn weil dass wo wer warum habe haben hatte
hatten wird werden wurde kann können muss müssen heute gestern morgen jetzt je suis est sommes êtes sont
nous vous ils elles mes tes ses notre votre leur les un une et ou mais pas aussi très avec chez dans pour
sous entre depuis quand parce que qui où c'est j'ai j'habite j'aime d'un d'une avons avez ont était
aujourd'hui hier demain maintenant soy eres somos nosotros ustedes ellos ellas mi mis tus su sus nuestro
nuestra una unos unas pero también muy con en para por desde cuando porque quien donde tengo tienes tiene
tenemos está están estoy fue vivo vive gusta ayer mañana ahora eu sou és são nós vocês eles elas meu minha
meus minhas teu tua seu nosso nossa uma umas mas não também muito na nos nas pelo pela quando quem onde
tenho tens temos estão estou foi moro mora gosto hoje ontem amanhã agora io sono siamo siete noi voi loro
mio mia miei mie tuo suo nostro il gli uno anche molto nel nella nello sul sulla perché dove hai abbiamo
hanno oggi ieri domani adesso delle degli dei che vivono ik zijn wij jullie mijn jouw haar ons onze het een
maar niet geen ook nog heel bij naar voor onder tussen sinds als omdat waar waarom heb hebben wordt worden
werd kan moet vandaag gisteren nu woon werk jeg hun din og eller ikke også meget hos på bor arbejder à allé
né avoir être
""")
_ENGLISH = word_set("""
a about after again all also always am an and any are as at be because been before being but by can can't
could day did didn't do does doesn't don't down even ever every for from get go going good got great had has
have he he's her here him his how i'd i'll i'm i've if in into is isn't it it's its just know last let's
like live lives lived love made make me more most much my need never new next not now of off on one only or
other our out over really said she she's should since so some than thank thanks that that's the their them
then there they they're this time to today tomorrow too two up us use very want was wasn't we we'll we're
we've week well went were what what's when where which while who why will with won't work works worked would
year yesterday you you'll you're you've your i no
""")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def is_non_english(sentence: str) -> bool:
    """Whether a sentence has no fewer small words of another language than of English.

    The rules would make nonsense of it: in Italian "I miei genitori" is not what somebody does.

    >>> is_non_english("I miei genitori vivono a Milano."), is_non_english("I ate tacos al pastor in Los Angeles.")
    (True, False)
    """
    spoken = _WORD.findall(sentence)
    foreign = sum(word in _FOREIGN for word in spoken)  # as they are written: Las Vegas is a name
    if not foreign:
        return False
    foreign += spoken[0].lower() in _FOREIGN and spoken[0] not in _FOREIGN
    return foreign >= sum(word in _ENGLISH for word in spoken)
