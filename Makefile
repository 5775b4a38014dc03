# gpusort: builds with PGXS.  `make help` lists what there is.
MODULE_big = gpusort
EXTENSION = gpusort
DATA = sql/gpusort--1.0.sql
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c)))

PG_CPPFLAGS = -I$(CURDIR)/src
PG_CFLAGS = -O3 -Wall -Wextra -Winit-self -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers $(if $(WERROR),-Werror)

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
