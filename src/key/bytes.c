/*
 * key/bytes.c
 *		Variable sort keys of text ordered by its bytes, bytea, bit, inet and oidvector; of bytes as stored.
 */
#include "postgres.h"

#include <sys/socket.h>

#include "key/builder.h"
#include "key/encoders.h"
#include "key/numbers.h"

#include "utils/inet.h"
#include "utils/varbit.h"

/*
 * The bytes, then 00.  No text has a zero byte within (every encoding of a database keeps that one for
 * itself), so the terminator both ends the value and sorts it before its continuations.
 */
void
sort_key_append_text(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	Size len;
	const char *bytes = sort_key_text_bytes(key, col, value, &len);

	sort_key_append_string(key, bytes, len);
}

/*
 * Bytes of any value, terminated: a zero byte becomes 00 FF, the end is 00 00.
 *
 * Where two strings first differ, a byte that is not zero stands for itself, and a zero or an end begins with
 * 00, less than any other; between these two the second byte decides, and an end comes first.  So the order
 * is kept, and as an end is never read as anything else, the encoding is prefix-free.
 */
static void
append_escaped(SortKeyBuilder *key, const uint8 *bytes, Size len)
{
	const uint8 *end = bytes + len;
	uint8 *start = sort_key_reserve(key, 2 * len + 2);
	uint8 *dst = start;

	while (bytes < end)
	{
		const uint8 *zero = memchr(bytes, 0, end - bytes);
		Size run = (zero ? zero : end) - bytes;

		memcpy(dst, bytes, run);
		dst += run;
		bytes += run;
		if (zero)
		{
			*dst++ = 0;
			*dst++ = 0xFF;
			bytes++;
		}
	}
	*dst++ = 0;
	*dst++ = 0;
	key->length += dst - start;
}

void
sort_key_append_bytea(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	struct varlena *bytes = sort_key_detoast(key, value);

	append_escaped(key, (uint8 *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
}

/* The bytes of a value as they are stored, as many as every value of its type has. */
void
sort_key_append_image(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	memcpy(sort_key_reserve(key, col->length), DatumGetPointer(value), col->length);
	key->length += col->length;
}

/*
 * Bit strings order by their bytes, the last one filled up with zero bits, then by their length in bits.
 * Where the bytes are the same, that is the number of bits used in the last byte.
 */
void
sort_key_append_bit(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	struct varlena *bits = sort_key_detoast(key, value);
	const char *data = VARDATA_ANY(bits);
	int32 bitlen;
	Size nbytes;

	/* a short varlena need not be aligned: VarBit's fields are out of reach */
	memcpy(&bitlen, data, sizeof(bitlen));
	nbytes = VARSIZE_ANY_EXHDR(bits) - sizeof(bitlen);

	append_escaped(key, (const uint8 *) data + sizeof(bitlen), nbytes);
	*sort_key_reserve(key, 1) = (uint8) (bitlen - (int64) (nbytes - 1) * BITS_PER_BYTE);
	key->length++;
}

/*
 * An address orders by family, then as many bits of the network as both have, then the length of the
 * network's mask, then the whole address.  Here: the family, the address with the host's bits zero, the mask
 * length, and the host's bits.
 *
 * Where networks differ only in bits that one of them does not have, that one has zero bits there and the
 * shorter mask, so either way it comes first.  The family is 2 or 3 and tells how long the rest is.  If the
 * mask is as long as the address, no bits of the host are left to store.
 */
void
sort_key_append_inet(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	inet *address = (inet *) sort_key_detoast(key, value);
	const uint8 *bytes = ip_addr(address);
	int size = ip_addrsize(address);
	int bits = ip_bits(address);
	uint8 *start = sort_key_reserve(key, 2 + 2 * sizeof(((inet_struct *) NULL)->ipaddr));
	uint8 *dst = start;

	StaticAssertStmt(PGSQL_AF_INET == 2 && PGSQL_AF_INET6 == 3, "families are their own markers");

	*dst++ = ip_family(address);
	for (int i = 0; i < size; i++)
	{
		int network = Min(Max(bits - i * BITS_PER_BYTE, 0), BITS_PER_BYTE);
		uint8 mask = (uint8) (0xFF00 >> network);

		dst[i] = bytes[i] & mask;
		dst[size + 1 + i] = bytes[i] & ~mask;
	}
	dst[size] = (uint8) bits;
	dst += size + 1;
	if (bits < ip_maxbits(address))
		dst += size;
	key->length += dst - start;
}

/* Vectors order by how many oids they have, then by these. */
void
sort_key_append_oidvector(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	struct varlena *whole = sort_key_detoast(key, value);
	const char *fields = VARDATA_ANY(whole) - VARHDRSZ;
	const char *oids = fields + offsetof(oidvector, values);
	int32 count;
	uint8 *dst;

	/* a short varlena need not be aligned */
	memcpy(&count, fields + offsetof(oidvector, dim1), sizeof(count));
	dst = sort_key_reserve(key, sizeof(uint32) * (1 + (Size) count));
	sort_key_store32(dst, count);
	for (int i = 0; i < count; i++)
	{
		Oid oid;

		memcpy(&oid, oids + sizeof(oid) * i, sizeof(oid));
		sort_key_store32(dst + sizeof(uint32) * (1 + i), oid);
	}
	key->length += sizeof(uint32) * (1 + (Size) count);
}
