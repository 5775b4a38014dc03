/*
 * index/takeover.h
 *		Lets this backend build B-trees with gpusort, and gpusort_check report on index builds (check.c).
 */
#ifndef GPUSORT_INDEX_TAKEOVER_H
#define GPUSORT_INDEX_TAKEOVER_H

#include "postgres.h"

/* Once, when the library is loaded. */
extern void index_takeover_install_hooks(void);
extern void index_check_install(void);

#endif /* GPUSORT_INDEX_TAKEOVER_H */
