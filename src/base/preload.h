/*
 * base/preload.h
 *		By which setting new sessions have the library.
 */
#ifndef GPUSORT_BASE_PRELOAD_H
#define GPUSORT_BASE_PRELOAD_H

/* The name of a setting that loads it into sessions as this one; NULL: none does, it came in another way. */
extern const char *preload_setting(void);

/* What whoever asks can do so that one does, palloc'd. */
extern const char *preload_hint(void);

#endif /* GPUSORT_BASE_PRELOAD_H */
