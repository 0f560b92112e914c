"""A small catalogue as files, and the concepts that it counts."""

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
