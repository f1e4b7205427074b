"""Lexicon of the small English→Spanish language, with every form that agreement needs.

The tables are meant to be read and edited, one word per line. Spanish is written without accents
(``ñ`` stays), as everywhere in the corpus. Numbers are 0 for singular and 1 for plural; genders
are ``m`` and ``f``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Gender = Literal["m", "f"]

#: Indices into a verb's present forms.
PERSONS = ("i", "you", "he", "we", "they")


@dataclass(frozen=True)
class Noun:
    """A noun with its plural, its Spanish gender and what kind of thing it names."""

    english: tuple[str, str]
    spanish: tuple[str, str]
    gender: Gender
    kind: str

    @property
    def lemma(self) -> str:
        """The English singular."""
        return self.english[0]


@dataclass(frozen=True)
class Adjective:
    """An adjective: Spanish forms (m sg, f sg, m pl, f pl), its copula, the kinds it suits."""

    english: str
    forms: tuple[str, str, str, str]
    copula: Literal["ser", "estar"]
    kinds: frozenset[str]

    def agree(self, gender: Gender, number: int) -> str:
        """Return the Spanish form for a gender and a number."""
        return self.forms[2 * number + (gender == "f")]


@dataclass(frozen=True)
class Verb:
    """A verb: English (base, third person, past), Spanish present by person and past (sg, pl)."""

    english: tuple[str, str, str]
    present: tuple[str, ...]
    past: tuple[str, str]
    objects: frozenset[str]

    @property
    def lemma(self) -> str:
        """The English base form."""
        return self.english[0]


_NOUNS = """
animal animals   | animal animales     | m animal
cat cats         | gato gatos          | m animal
dog dogs         | perro perros        | m animal
bird birds       | pajaro pajaros      | m animal
horse horses     | caballo caballos    | m animal
duck ducks       | pato patos          | m animal
wolf wolves      | lobo lobos          | m animal
cow cows         | vaca vacas          | f animal
hen hens         | gallina gallinas    | f animal
frog frogs       | rana ranas          | f animal
goat goats       | cabra cabras        | f animal
turtle turtles   | tortuga tortugas    | f animal
spider spiders   | araña arañas        | f animal
boy boys         | niño niños          | m person
man men          | hombre hombres      | m person
teacher teachers | maestro maestros    | m person
friend friends   | amigo amigos        | m person
girl girls       | niña niñas          | f person
woman women      | mujer mujeres       | f person
queen queens     | reina reinas        | f person
book books       | libro libros        | m thing
hat hats         | sombrero sombreros  | m thing
car cars         | coche coches        | m thing
train trains     | tren trenes         | m thing
ticket tickets   | billete billetes    | m thing
table tables     | mesa mesas          | f thing
house houses     | casa casas          | f thing
letter letters   | carta cartas        | f thing
door doors       | puerta puertas      | f thing
flower flowers   | flor flores         | f thing
bread breads     | pan panes           | m food
cheese cheeses   | queso quesos        | m food
egg eggs         | huevo huevos        | m food
apple apples     | manzana manzanas    | f food
soup soups       | sopa sopas          | f food
river rivers     | rio rios            | m place
road roads       | camino caminos      | m place
bridge bridges   | puente puentes      | m place
forest forests   | bosque bosques      | m place
park parks       | parque parques      | m place
street streets   | calle calles        | f place
square squares   | plaza plazas        | f place
beach beaches    | playa playas        | f place
mountain mountains | montaña montañas  | f place
"""

# An adjective on -o has four forms; any other is given as singular/plural for both genders.
_ADJECTIVES = """
black     | negro      | ser   | animal thing
white     | blanco     | ser   | animal thing
red       | rojo       | ser   | thing food
green     | verde/verdes   | ser | thing food
blue      | azul/azules    | ser | thing
big       | grande/grandes | ser | animal thing food place
small     | pequeño    | ser   | animal person thing food
old       | viejo      | ser   | animal person thing
new       | nuevo      | ser   | thing
tall      | alto       | ser   | person
good      | bueno      | ser   | person food
pretty    | bonito     | ser   | thing place
expensive | caro       | ser   | thing food
cheap     | barato     | ser   | thing food
fast      | rapido     | ser   | animal
slow      | lento      | ser   | animal
happy     | contento   | estar | animal person
tired     | cansado    | estar | animal person
sick      | enfermo    | estar | animal person
hungry    | hambriento | estar | animal person
scared    | asustado   | estar | animal person
open      | abierto    | estar | door
clean     | limpio     | estar | thing
wide      | ancho      | ser   | place
narrow    | estrecho   | ser   | place
long      | largo      | ser   | place
dangerous | peligroso  | ser   | place
noisy     | ruidoso    | ser   | place
dark      | oscuro     | ser   | place
"""

_VERBS = """
sleep sleeps slept    | duermo duermes duerme dormimos duermen           | durmio durmieron       |
run runs ran          | corro corres corre corremos corren               | corrio corrieron       |
sing sings sang       | canto cantas canta cantamos cantan               | canto cantaron         |
walk walks walked     | camino caminas camina caminamos caminan          | camino caminaron       |
work works worked     | trabajo trabajas trabaja trabajamos trabajan     | trabajo trabajaron     |
travel travels traveled | viajo viajas viaja viajamos viajan             | viajo viajaron         |
eat eats ate          | como comes come comemos comen                    | comio comieron         | food
see sees saw          | veo ves ve vemos ven                             | vio vieron             | animal person thing place
buy buys bought       | compro compras compra compramos compran          | compro compraron       | thing food
want wants wanted     | quiero quieres quiere queremos quieren           | queria querian         | thing food
have has had          | tengo tienes tiene tenemos tienen                | tenia tenian           | thing food
find finds found      | encuentro encuentras encuentra encontramos encuentran | encontro encontraron | animal person thing
love loves loved      | amo amas ama amamos aman                         | amaba amaban           | animal person thing food place
cross crosses crossed | cruzo cruzas cruza cruzamos cruzan               | cruzo cruzaron         | place
"""

#: Towns, for *from X to Y*; the two languages spell some of them alike.
TOWNS = {
    "beijing": "pekin",
    "shanghai": "shanghai",
    "london": "londres",
    "rome": "roma",
    "lisbon": "lisboa",
    "paris": "paris",
    "madrid": "madrid",
    "lima": "lima",
}

#: Names that people have in *my name is …*.
NAMES = ("ana", "pedro", "maria", "david")

#: Sentences learned whole, because no rule makes them.
SET_PHRASES = {
    "hello": "hola",
    "hello world": "hola mundo",
    "good morning": "buenos dias",
    "good night": "buenas noches",
    "what is your name": "como te llamas",
    "how are you": "como estas",
    "thank you": "gracias",
    "goodbye": "adios",
}


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def _read_nouns() -> tuple[Noun, ...]:
    nouns = []
    for english, spanish, features in _rows(_NOUNS):
        gender, kind = features.split()
        one, many = english.split()
        uno, varios = spanish.split()
        nouns.append(Noun((one, many), (uno, varios), gender, kind))  # type: ignore[arg-type]
    return tuple(nouns)


def _read_adjectives() -> tuple[Adjective, ...]:
    adjectives = []
    for english, spanish, copula, kinds in _rows(_ADJECTIVES):
        if "/" in spanish:
            one, many = spanish.split("/")
            forms = (one, one, many, many)
        else:
            stem = spanish.removesuffix("o")
            forms = (f"{stem}o", f"{stem}a", f"{stem}os", f"{stem}as")
        adjectives.append(Adjective(english, forms, copula, frozenset(kinds.split())))  # type: ignore[arg-type]
    return tuple(adjectives)


def _read_verbs() -> tuple[Verb, ...]:
    verbs = []
    for english, present, past, objects in _rows(_VERBS):
        base, third, simple_past = english.split()
        singular, plural = past.split()
        verbs.append(
            Verb(
                (base, third, simple_past),
                tuple(present.split()),
                (singular, plural),
                frozenset(objects.split()),
            )
        )
    return tuple(verbs)


NOUNS = _read_nouns()
ADJECTIVES = _read_adjectives()
VERBS = _read_verbs()
