/*
 * key/supported.c
 *		What the planner asks of sort columns.
 */
#include "postgres.h"

#include "key/coded.h"
#include "key/collation.h"
#include "key/describe.h"
#include "key/encoders.h"
#include "key/images.h"
#include "key/supported.h"

bool
sort_key_supported_if_verified(const SortColumnSpec *column, bool *verified, Declined *why_not)
{
	SortKeyColumn col;

	if (!sort_key_describe(column, &col, why_not))
		return false;
	*verified = col.verified;
	return true;
}

/* The component, or the column itself, whose order ICU's keys guess at; NULL: there is none. */
static const SortKeyColumn *
find_guess_of_icu(const SortKeyColumn *col)
{
	const SortKeyColumn *found = NULL;

	if (!col->verified)
		return NULL;
	if (col->components == NULL)
		return sort_key_text_order(col->collation) == TEXT_ICU ? col : NULL;
	for (int i = 0; i < col->components->ncolumns && found == NULL; i++)
		found = find_guess_of_icu(&col->components->columns[i]);
	return found;
}

bool
sort_key_supported_for_index(const SortColumnSpec *column, Declined *why_not)
{
	SortKeyColumn col;
	const SortKeyColumn *guess;

	if (!sort_key_describe(column, &col, why_not))
		return false;
	guess = find_guess_of_icu(&col);
	return guess == NULL || sort_key_decline_guess(guess->collation, why_not);
}

/* What the column adds to a key: marker and terminator; a sort key or image, and the text after it. */
static double
estimate_column(const SortKeyColumn *col, double width)
{
	double imaged = Min(width, IMAGED_BYTES_MAX);

	if (col->width > 0)
		return 1 + col->width;
	if (col->append == sort_key_append_icu)
		return 8 + 2 * width;
	if (col->append == sort_key_append_imaged)
		return 3 + 1.25 * imaged + width;
	if (sort_key_is_whole(col))
		return 7 + imaged + width;
	return 2 + width;
}

bool
sort_key_estimate(int ncols, const SortColumnSpec *columns, const double *widths, SortKeyEstimate *estimate,
				  Declined *why_not)
{
	SortKeyColumn *cols = palloc0(ncols * sizeof(SortKeyColumn));
	bool supported = true;
	int fixed;

	*estimate = (SortKeyEstimate){.column_verified = palloc(ncols * sizeof(bool))};
	for (int i = 0; i < ncols; i++)
	{
		supported = sort_key_describe_anyhow(&columns[i], &cols[i], why_not) && supported;
		estimate->column_verified[i] = cols[i].verified;
		estimate->verified |= cols[i].verified;
		estimate->bytes += estimate_column(&cols[i], widths[i]);
	}
	fixed = sort_key_fixed_width(ncols, cols);
	if (fixed == 0)
		estimate->coded_bytes = sort_key_coded_width(ncols, cols, PG_UINT32_MAX, &estimate->codable);
	pfree(cols);
	estimate->is_fixed = fixed > 0;
	if (fixed > 0)
		estimate->bytes = fixed;
	return supported;
}
