/*
 * key/supported.h
 *		What the planner asks of sort columns: whether they have keys, and what these keys are expected to be.
 */
#ifndef GPUSORT_KEY_SUPPORTED_H
#define GPUSORT_KEY_SUPPORTED_H

#include "base/declined.h"
#include "key/types.h"

/*
 * Can this column be encoded?  *verified: the key only guesses the order, which must be verified.  If the
 * column cannot be encoded, *why_not says why, as "type jsonb has no exact sort key".
 */
extern bool sort_key_supported_if_verified(const SortColumnSpec *column, bool *verified, Declined *why_not);

/*
 * Can this column be encoded for an index?  An index needs an order that holds between any two values.
 * Comparisons of the ICU collations whose order is verified may contradict each other.
 */
extern bool sort_key_supported_for_index(const SortColumnSpec *column, Declined *why_not);

/* What the keys of some columns are expected to be. */
typedef struct SortKeyEstimate
{
	double bytes;		   /* of a row's key, on average */
	bool is_fixed;		   /* is it a fixed key? */
	bool verified;		   /* does it only guess at the order? */
	bool *column_verified; /* does the column's part of it?  palloc'd */
	uint32 codable;		   /* columns that can be coded (coded.h), as bits */
	double coded_bytes;	   /* of a key in which they are; 0: that is no fixed key */
} SortKeyEstimate;

/*
 * Fills the estimate of keys; widths: the average bytes of the columns' values.  False: a column cannot be
 * encoded (*why_not), and the estimate is for a key that PostgreSQL's own comparison verifies.
 */
extern bool sort_key_estimate(int ncols, const SortColumnSpec *columns, const double *widths,
							  SortKeyEstimate *estimate, Declined *why_not);

#endif /* GPUSORT_KEY_SUPPORTED_H */
