# Makes the file of argv[1] a SQLite database with Neutron's tables: those of the models, because the migrations alter
# constraints, which SQLite cannot.
import sys

import sqlalchemy
from neutron.db.migration.models import head

engine = sqlalchemy.create_engine("sqlite:///" + sys.argv[1])
with engine.connect() as connection:
    connection.execute(sqlalchemy.text("PRAGMA journal_mode=WAL"))
head.get_metadata().create_all(engine)
