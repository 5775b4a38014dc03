/*
 * key/collation.h
 *		Who compares text by a collation, and what keys can say of that order.
 */
#ifndef GPUSORT_KEY_COLLATION_H
#define GPUSORT_KEY_COLLATION_H

#include "key/types.h"

/*
 * How text is ordered by this collation; *verified: do keys only guess at that?  False if they don't even do
 * so, *why_not tells why.
 */
extern bool sort_key_describe_collation(Oid collation, TextOrder *order, bool *verified, Declined *why_not);

/* Says that keys only guess at the order of this collation, where that will not do; returns false. */
extern bool sort_key_decline_guess(Oid collation, Declined *why_not);

#endif /* GPUSORT_KEY_COLLATION_H */
