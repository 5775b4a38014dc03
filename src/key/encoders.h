/*
 * key/encoders.h
 *		The encoders of values of variable width, by file.
 */
#ifndef GPUSORT_KEY_ENCODERS_H
#define GPUSORT_KEY_ENCODERS_H

#include "key/column.h"

/* bytes.c */
extern void sort_key_append_text(SortKeyBuilder *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_bytea(SortKeyBuilder *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_bit(SortKeyBuilder *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_inet(SortKeyBuilder *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_oidvector(SortKeyBuilder *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_image(SortKeyBuilder *key, SortKeyColumn *col, Datum value);

/* numeric.c */
extern void sort_key_append_numeric(SortKeyBuilder *key, SortKeyColumn *col, Datum value);

/* icu.c */
extern void sort_key_append_icu(SortKeyBuilder *key, SortKeyColumn *col, Datum value);

/* images.c */
extern void sort_key_append_imaged(SortKeyBuilder *key, SortKeyColumn *col, Datum value);

/* components.c */
extern void sort_key_append_array(SortKeyBuilder *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_record(SortKeyBuilder *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_range(SortKeyBuilder *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_multirange(SortKeyBuilder *key, SortKeyColumn *col, Datum value);

/* jsonb.c */
extern void sort_key_append_jsonb(SortKeyBuilder *key, SortKeyColumn *col, Datum value);

/* text_search.c */
extern void sort_key_append_tsvector(SortKeyBuilder *key, SortKeyColumn *col, Datum value);

/* whole.c */
extern void sort_key_append_whole(SortKeyBuilder *key, SortKeyColumn *col, Datum value);

#endif /* GPUSORT_KEY_ENCODERS_H */
