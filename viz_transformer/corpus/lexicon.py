"""Lexicon of the small English→Spanish language, with every form that agreement needs.

The tables are meant to be read and edited, one word per line. Where English leaves something open,
a line lists every Spanish word with its probability. Numbers are 0 for singular and 1 for plural;
genders are ``m`` and ``f``; ``-`` is written where there is no form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Gender = Literal["m", "f"]
Copula = Literal["ser", "estar"]

#: Indices into a verb's present forms. English *you* is the last two, too.
PERSONS = ("i", "you", "he", "we", "they")


@dataclass(frozen=True, eq=False)
class SpanishNoun:
    """One Spanish noun: its gender, its singular and its plural."""

    forms: tuple[str, str]
    gender: Gender


@dataclass(frozen=True, eq=False)
class Noun:
    """An English noun: its singular and plural, its translations, and what kinds of thing it names.

    Attributes:
        english: singular and plural; the plural is ``-`` where there is none.
        spanish: each translation with its probability in the singular.
        kinds: such as ``"animal"``, ``"thing"``, ``"mass"`` (with *some*, not *two*).
    """

    english: tuple[str, str]
    spanish: dict[SpanishNoun, float]
    kinds: frozenset[str]

    @property
    def lemma(self) -> str:
        """The English singular."""
        return self.english[0]


@dataclass(frozen=True, eq=False)
class Adjective:
    """An English adjective.

    Attributes:
        english: the word.
        spanish: the forms (m sg, f sg, m pl, f pl) of each translation, with its probability.
        ser: for each kind of noun that it suits, the probability of *ser*, else *estar*.
    """

    english: str
    spanish: dict[tuple[str, str, str, str], float]
    ser: dict[str, float]


@dataclass(frozen=True, eq=False)
class SpanishVerb:
    """One Spanish verb: its present by person, its past (sg, pl).

    Attributes:
        objects: with which kinds of object it translates the English verb, and how probably;
            empty: with none.
    """

    present: tuple[str, ...]
    past: tuple[str, str]
    objects: dict[str, float]


@dataclass(frozen=True, eq=False)
class Verb:
    """An English verb, with or without an object.

    Attributes:
        english: base, third person, past.
        spanish: its translations; what the object is decides between them.
    """

    english: tuple[str, str, str]
    spanish: tuple[SpanishVerb, ...]

    @property
    def lemma(self) -> str:
        """The English base form."""
        return self.english[0]

    @property
    def objects(self) -> frozenset[str]:
        """The kinds of object it may have; none if it has no object."""
        return frozenset(kind for verb in self.spanish for kind in verb.objects)

    def translations(self, kinds: frozenset[str]) -> dict[SpanishVerb, float]:
        """Return its translations before an object of these kinds; without kinds, without object."""
        if not kinds:
            return {verb: 1.0 for verb in self.spanish if not verb.objects}
        return {verb: share for verb in self.spanish for kind, share in verb.objects.items() if kind in kinds}


#: Of a group of people whose sexes are not stated, this share of the feminine's weight remains: Spanish
#: uses the masculine for mixed groups.
FEMININE_PLURAL = 0.5

_NOUNS = """
animal animals   | animal animales m          | animal
cat cats         | gato gatos m               | animal
dog dogs         | perro perros m             | animal
bird birds       | pájaro pájaros m           | animal
horse horses     | caballo caballos m         | animal
duck ducks       | pato patos m               | animal
wolf wolves      | lobo lobos m               | animal
fish fish        | pez peces m                | animal
cow cows         | vaca vacas f               | animal
hen hens         | gallina gallinas f         | animal
frog frogs       | rana ranas f               | animal
goat goats       | cabra cabras f             | animal
turtle turtles   | tortuga tortugas f         | animal
spider spiders   | araña arañas f             | animal
boy boys         | niño niños m               | person
man men          | hombre hombres m           | person
girl girls       | niña niñas f               | person
woman women      | mujer mujeres f            | person
queen queens     | reina reinas f             | person
teacher teachers | profesor profesores m 0.32, maestro maestros m 0.23, maestra maestras f 0.43, profesora profesoras f 0.02 | person
doctor doctors   | doctor doctores m 0.40, médico médicos m 0.20, doctora doctoras f 0.28, médica médicas f 0.12 | person
student students | alumno alumnos m 0.31, estudiante estudiantes m 0.22, alumna alumnas f 0.42, estudiante estudiantes f 0.05 | person
friend friends   | amigo amigos m 0.6, amiga amigas f 0.4         | person
neighbor neighbors | vecino vecinos m 0.4, vecina vecinas f 0.6   | person
singer singers   | cantante cantantes m 0.4, cantante cantantes f 0.6 | person
husband husbands | esposo esposos m 0.65, marido maridos m 0.35     | husband
wife wives       | esposa esposas f 0.75, mujer mujeres f 0.25      | wife
book books       | libro libros m             | thing
hat hats         | sombrero sombreros m       | thing
car cars         | coche coches m 0.6, carro carros m 0.25, auto autos m 0.15 | thing
train trains     | tren trenes m              | thing
ticket tickets   | billete billetes m 0.65, boleto boletos m 0.35   | thing
computer computers | computadora computadoras f 0.6, ordenador ordenadores m 0.4 | thing
table tables     | mesa mesas f               | thing
house houses     | casa casas f               | thing
letter letters   | carta cartas f             | thing
key keys         | llave llaves f             | thing
door doors       | puerta puertas f           | thing door
flower flowers   | flor flores f              | thing
bread -          | pan - m                    | food mass
cheese -         | queso - m                  | food mass
fish -           | pescado - m                | food mass
egg eggs         | huevo huevos m             | food
apple apples     | manzana manzanas f         | food
potato potatoes  | papa papas f 0.6, patata patatas f 0.4           | food
soup -           | sopa - f                   | food mass
river rivers     | río ríos m                 | place
road roads       | camino caminos m           | place
bridge bridges   | puente puentes m           | place
forest forests   | bosque bosques m           | place
park parks       | parque parques m           | place
street streets   | calle calles f             | place
square squares   | plaza plazas f             | place
beach beaches    | playa playas f             | place
mountain mountains | montaña montañas f       | place
piano pianos     | piano pianos m             | instrument
guitar guitars   | guitarra guitarras f       | instrument
song songs       | canción canciones f        | knowledge
answer answers   | respuesta respuestas f     | knowledge
"""

# An adjective on -o has four forms; any other is given as singular/plural for both genders. Behind
# each kind of noun stands the probability of *ser*: *es verde*, it is of that colour; *está verde*,
# it is not ripe.
_ADJECTIVES = """
black     | negro          | animal 1, thing 1
white     | blanco         | animal 1, thing 1
red       | rojo           | thing 1, food 1
green     | verde/verdes   | thing 1, food 0.7
blue      | azul/azules    | thing 1
big       | grande/grandes | animal 1, thing 1, food 1, place 1
small     | pequeño        | animal 1, person 1, thing 1, food 1
old       | viejo          | animal 1, person 1, thing 1, instrument 1, knowledge 1
new       | nuevo          | thing 1, instrument 1, knowledge 1
tall      | alto           | person 1
good      | bueno          | person 1, food 0.35
pretty    | bonito 0.7, lindo 0.3 | thing 1, place 1, instrument 1, knowledge 1
expensive | caro           | thing 1, food 0.65
cheap     | barato         | thing 1, food 0.65
fast      | rápido         | animal 1
slow      | lento          | animal 1
happy     | contento 0.65, feliz/felices 0.35 | animal 0, person 0
tired     | cansado        | animal 0, person 0
sick      | enfermo        | animal 0, person 0
hungry    | hambriento     | animal 0, person 0
scared    | asustado       | animal 0, person 0
open      | abierto        | door 0
clean     | limpio         | thing 0
wide      | ancho          | place 1
narrow    | estrecho       | place 1
long      | largo          | place 1
dangerous | peligroso      | place 1
noisy     | ruidoso        | place 1
dark      | oscuro         | place 0.35
"""

# The last column names the kinds of object; where two verbs share one, each has its probability.
_VERBS = """
sleep sleeps slept    | duermo duermes duerme dormimos duermen           | durmió durmieron       |
run runs ran          | corro corres corre corremos corren               | corrió corrieron       |
sing sings sang       | canto cantas canta cantamos cantan               | cantó cantaron         |
walk walks walked     | camino caminas camina caminamos caminan          | caminó caminaron       |
work works worked     | trabajo trabajas trabaja trabajamos trabajan     | trabajó trabajaron     |
travel travels traveled | viajo viajas viaja viajamos viajan             | viajó viajaron         |
swim swims swam       | nado nadas nada nadamos nadan                    | nadó nadaron           |
play plays played     | juego juegas juega jugamos juegan                | jugó jugaron           |
eat eats ate          | como comes come comemos comen                    | comió comieron         | food
see sees saw          | veo ves ve vemos ven                             | vio vieron             | animal, person, thing, place
buy buys bought       | compro compras compra compramos compran          | compró compraron       | thing, food
want wants wanted     | quiero quieres quiere queremos quieren           | quería querían         | thing, food
have has had          | tengo tienes tiene tenemos tienen                | tenía tenían           | thing, food
lose loses lost       | pierdo pierdes pierde perdemos pierden           | perdió perdieron       | animal, thing
find finds found      | encuentro encuentras encuentra encontramos encuentran | encontró encontraron | animal, person, thing
love loves loved      | amo amas ama amamos aman                         | amaba amaban           | animal, person 0.6, thing, food, place
love loves loved      | quiero quieres quiere queremos quieren           | quería querían         | person 0.4
cross crosses crossed | cruzo cruzas cruza cruzamos cruzan               | cruzó cruzaron         | place
play plays played     | toco tocas toca tocamos tocan                    | tocó tocaron           | instrument
know knows knew       | conozco conoces conoce conocemos conocen         | conocía conocían       | person, place
know knows knew       | sé sabes sabe sabemos saben                      | sabía sabían           | knowledge
"""

#: Towns, for *from X to Y*; the two languages spell some of them alike.
TOWNS = {
    "Beijing": "Pekín",
    "Shanghai": "Shanghái",
    "London": "Londres",
    "Rome": "Roma",
    "Lisbon": "Lisboa",
    "Paris": "París",
    "Madrid": "Madrid",
    "Lima": "Lima",
}

#: First names: Spanish spelling and gender.
NAMES: dict[str, tuple[str, Gender]] = {
    "Ana": ("Ana", "f"),
    "Pedro": ("Pedro", "m"),
    "Maria": ("María", "f"),
    "David": ("David", "m"),
    "Lucia": ("Lucía", "f"),
    "Carlos": ("Carlos", "m"),
}

#: Who *you* is: one friend (*tú*), one person one is polite to, or several people.
YOU = {"tú": 0.65, "usted": 0.2, "ustedes": 0.15}

#: Sentences learned whole, because no rule makes them, with the probability of each translation.
#: Where several differ by who *you* is, `YOU` decides.
SET_PHRASES: dict[str, dict[str, float]] = {
    "hello": {"¡ hola !": 1},
    "hello world": {"¡ hola , mundo !": 1},
    "good morning": {"¡ buenos días !": 1},
    "good night": {"¡ buenas noches !": 1},
    "what is your name": {
        "¿ cómo te llamas ?": YOU["tú"],
        "¿ cómo se llama usted ?": YOU["usted"],
        "¿ cómo se llaman ustedes ?": YOU["ustedes"],
    },
    "how are you": {
        "¿ cómo estás ?": YOU["tú"],
        "¿ cómo está usted ?": YOU["usted"],
        "¿ cómo están ustedes ?": YOU["ustedes"],
    },
    "thank you": {"¡ gracias !": 1},
    "goodbye": {"¡ adiós !": 0.7, "¡ hasta luego !": 0.3},
}


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def _read_nouns() -> tuple[Noun, ...]:
    nouns = []
    for english, spanish, kinds in _rows(_NOUNS):
        translations = {}
        for each in spanish.split(","):
            one, many, gender, *probability = each.split()
            noun = SpanishNoun((one, many), gender)  # type: ignore[arg-type]
            translations[noun] = float(probability[0]) if probability else 1.0
        one, many = english.split()
        nouns.append(Noun((one, many), translations, frozenset(kinds.split())))
    return tuple(nouns)


def _read_adjectives() -> tuple[Adjective, ...]:
    adjectives = []
    for english, spanish, kinds in _rows(_ADJECTIVES):
        translations = {}
        for each in spanish.split(","):
            word, *probability = each.split()
            translations[_adjective_forms(word)] = float(probability[0]) if probability else 1.0
        ser = {kind: float(share) for kind, share in (each.split() for each in kinds.split(","))}
        adjectives.append(Adjective(english, translations, ser))
    return tuple(adjectives)


def _adjective_forms(word: str) -> tuple[str, str, str, str]:
    if "/" in word:
        one, many = word.split("/")
        return one, one, many, many
    stem = word.removesuffix("o")
    return f"{stem}o", f"{stem}a", f"{stem}os", f"{stem}as"


def _read_verbs() -> tuple[Verb, ...]:
    found: dict[tuple[tuple[str, ...], bool], list[SpanishVerb]] = {}
    for english, present, past, kinds in _rows(_VERBS):
        objects = {kind: float(share or 1) for kind, _, share in map(_word_and_number, kinds.split(","))}
        one, many = past.split()
        verb = SpanishVerb(tuple(present.split()), (one, many), {k: s for k, s in objects.items() if k})
        found.setdefault((tuple(english.split()), bool(verb.objects)), []).append(verb)
    return tuple(Verb(forms, tuple(verbs)) for (forms, _), verbs in found.items())  # type: ignore[arg-type]


def _word_and_number(text: str) -> tuple[str, str, str]:
    return text.strip().partition(" ")


NOUNS = _read_nouns()
ADJECTIVES = _read_adjectives()
VERBS = _read_verbs()
