"""A small catalogue and a small vocabulary, as files and as fixtures; Eunomia's vocabulary."""

from pathlib import Path

import pytest

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.demo import demo_vocabulary
from assistants.hippocrates.vocabulary import Concept, Vocabulary

COUNTRIES = "id,country,continent\n1,Spain,Europe\n2,South Korea,Asia\n3,Peru,South America\n"
SOURCES = (
    "id,name,acronym,hash,release_date,country_id\n"
    "10,Andalusian records,ANDA,a1b2,2024-01-31,1\n"
    "11,Seoul claims,SEOUL,NA,NA,2\n"
    '12,"Registry, small",NA,NA,NA,1\n'
)
RESULTS = (
    "data_source_id,analysis_id,stratum_1,stratum_2,stratum_3,stratum_4,stratum_5,count_value,min_value\n"
    "10,0,Andalusian records,NA,NA,NA,NA,1000,NA\n"
    "10,1,NA,NA,NA,NA,NA,1000,NA\n"
    "10,400,100.0,NA,NA,NA,NA,80,NA\n"
    "10,400,101,NA,NA,NA,NA,30,NA\n"
    "10,401,101,NA,NA,NA,NA,900,NA\n"
    "10,404,101,2020,8507,3,NA,7,NA\n"
    "10,700,201,NA,NA,NA,NA,40,NA\n"
    "10,700,202,NA,NA,NA,NA,50,NA\n"
    "10,900,200,NA,NA,NA,NA,60,NA\n"
    "10,5000,Andalusian records,NA,NA,v5.3,v5.0 01-JAN-25,999,NA\n"
    "11,1,NA,NA,NA,NA,NA,50000,NA\n"
    "11,400,101,NA,NA,NA,NA,500,NA\n"
    "12,1,NA,NA,NA,NA,NA,20,NA\n"
    "12,400,100,NA,NA,NA,NA,3,NA\n"
    "12,400,0,NA,NA,NA,NA,20,NA\n"
    "12,700,201,NA,NA,NA,NA,0,NA\n"
)
FILES = {"countries.csv": COUNTRIES, "data_sources.csv": SOURCES, "achilles_results.csv": RESULTS}
GOUT, ACUTE_GOUT, WARFARIN, TABLET, SYRUP, PSORIASIS = 100, 101, 200, 201, 202, 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the catalogue's files."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def catalogue(folder: Path) -> Catalogue:
    """Read the catalogue."""
    return Catalogue.read(folder)


@pytest.fixture
def small_vocabulary() -> Vocabulary:
    """Make a vocabulary with two hierarchies."""
    return Vocabulary(
        [
            Concept(GOUT, "Gout", "Condition", "SNOMED", True),
            Concept(ACUTE_GOUT, "Acute gout", "Condition", "SNOMED", True),
            Concept(WARFARIN, "Warfarin", "Drug", "RxNorm", True),
            Concept(TABLET, "Warfarin 5 MG Oral Tablet", "Drug", "RxNorm", True),
            Concept(SYRUP, "Warfarin syrup, 1 MG, sweet", "Drug", "RxNorm", True),
            Concept(PSORIASIS, "Psoriasis", "Condition", "SNOMED", True),
            Concept(400, "History of gout with warfarin", "Observation", "SNOMED", True),
        ],
        [(GOUT, "Podagra"), (PSORIASIS, "Scaly skin disease")],
        ancestors=[GOUT, WARFARIN, WARFARIN],
        descendants=[ACUTE_GOUT, TABLET, SYRUP],
        version="v5.0 01-JAN-25",
    )


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """Open Eunomia's vocabulary."""
    return demo_vocabulary()
