/*
 * key/collation.h
 *		The library that compares text in a collation, and whether keys have that order.
 */
#ifndef GPUSORT_KEY_COLLATION_H
#define GPUSORT_KEY_COLLATION_H

#include "base/declined.h"

/* The order of text. */
typedef enum TextOrder
{
	TEXT_BYTEWISE,	   /* by its bytes */
	TEXT_ICU,		   /* by an ICU collation */
	TEXT_LIBC,		   /* by the C library */
	TEXT_LIBC_BYTEWISE /* by the C library, by bytes or nearly so */
} TextOrder;

extern TextOrder sort_key_text_order(Oid collation);

/*
 * Describes the order of text in this collation.  *verified: do keys only guess the order?  False: keys
 * cannot even guess the order, and *why_not says why.
 */
extern bool sort_key_describe_collation(Oid collation, TextOrder *order, bool *verified, Declined *why_not);

/* Declines a collation because its keys only guess the order, where a guess is not enough; returns false. */
extern bool sort_key_decline_guess(Oid collation, Declined *why_not);

#endif /* GPUSORT_KEY_COLLATION_H */
