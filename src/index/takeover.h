/*
 * index/takeover.h
 *		Has this backend build B-trees by way of ours.
 */
#ifndef GPUSORT_INDEX_TAKEOVER_H
#define GPUSORT_INDEX_TAKEOVER_H

/* Once, when the library is loaded. */
extern void index_takeover_install_hooks(void);

#endif /* GPUSORT_INDEX_TAKEOVER_H */
