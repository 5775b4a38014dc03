/*
 * index/takeover.h
 *		Has this backend build B-trees by way of ours, and gpusort_check tell of it (check.c).
 */
#ifndef GPUSORT_INDEX_TAKEOVER_H
#define GPUSORT_INDEX_TAKEOVER_H

#include "postgres.h"

/* Once, when the library is loaded. */
extern void index_takeover_install_hooks(void);
extern void index_check_install(void);

#endif /* GPUSORT_INDEX_TAKEOVER_H */
