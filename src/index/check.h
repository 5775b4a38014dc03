/*
 * index/check.h
 *		gpusort_check('CREATE INDEX ...').
 */
#ifndef GPUSORT_INDEX_CHECK_H
#define GPUSORT_INDEX_CHECK_H

/* Once, when the library is loaded. */
extern void index_check_install(void);

#endif /* GPUSORT_INDEX_CHECK_H */
