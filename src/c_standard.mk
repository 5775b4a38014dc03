# The C that PostgreSQL's headers are, for PG_CFLAGS.  Those of 15 are no C23, which gcc takes C for from
# version 15 on unless it is told; later ones are whatever the compiler takes C for, and use what the one that
# the server was built by had: 19's name typeof_unqual, which C17 has not.  A -std of the server's own comes
# with its flags.
C_STANDARD = $(if $(filter 15,$(MAJORVERSION)),-std=gnu17)
