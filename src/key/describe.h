/*
 * key/describe.h
 *		Which columns can be encoded exactly, and how.
 */
#ifndef GPUSORT_KEY_DESCRIBE_H
#define GPUSORT_KEY_DESCRIBE_H

#include "base/declined.h"
#include "key/column.h"

/*
 * Fills in the column without reading data, all fields except icu, images and enum_order, in
 * CurrentMemoryContext.  False: the column cannot be encoded exactly, and *why_not says why.
 */
extern bool sort_key_describe(const SortColumnSpec *spec, SortKeyColumn *col, Declined *why_not);

/*
 * Fills in a column that could be encoded when the plan was made.  If it cannot be encoded any more (false,
 * with *why_not), its values are stored whole, and the operator's comparison decides.
 */
extern bool sort_key_describe_anyhow(const SortColumnSpec *spec, SortKeyColumn *col, Declined *why_not);

/*
 * Fills in the components of a composite type by the present catalogs, in CurrentMemoryContext, as the
 * column's kind says; row: see SortColumnSpec.  False: a component cannot be encoded exactly, or the columns
 * are not known, and *why_not says why.
 */
extern bool sort_key_describe_record(Oid type, TupleDesc row, SortKeyColumn *col, Declined *why_not);

/* Returns the width of a fixed key of these columns; 0: the key is variable. */
extern int sort_key_fixed_width(int ncols, const SortKeyColumn *cols);

#endif /* GPUSORT_KEY_DESCRIBE_H */
