/*
 * index/takeover.h
 *		Has this backend build B-trees by way of ours, and gpusort_check tell of it (check.c).
 */
#ifndef GPUSORT_INDEX_TAKEOVER_H
#define GPUSORT_INDEX_TAKEOVER_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* Once, when the library is loaded. */
extern void index_takeover_install_hooks(void);
extern void index_check_install(void);

/* Is this option of a statement on? */
extern bool statement_has_option(List *options, const char *name);

#endif /* GPUSORT_INDEX_TAKEOVER_H */
