/** From the engine's errors to the driver's MongoServerError. */
import { BSON, type BSONSerializeOptions, type Document, MongoServerError } from 'mongodb';

/** An error reply as the exception that the driver throws for it. */
export function serverError(reply: Document): MongoServerError {
  return new MongoServerError(reply);
}

/** What a native call threw (`code codeName message`) as a MongoServerError. */
export function nativeError(error: unknown): Error {
  const text = error instanceof Error ? error.message : String(error);
  const parts = /^(-?\d+) (\S+) ([\s\S]*)$/.exec(text);
  if (!parts) return error instanceof Error ? error : new Error(text);
  return new MongoServerError({ ok: 0, code: Number(parts[1]), codeName: parts[2], message: parts[3] });
}

/** A reply decoded by the caller's BSON options; throws its error when it is not ok. */
export function decodeReply(bytes: Uint8Array, options: BSONSerializeOptions): Document {
  const reply = BSON.deserialize(bytes, options);
  // Unpromoted numbers are objects; the error itself has plain ones whatever documents are to become.
  if (Number(reply['ok']) !== 1) throw serverError(BSON.deserialize(bytes));
  return reply;
}

/** Throws the first write error of a single write's reply, as the driver does. */
export function checkWrite(reply: Document): Document {
  const first = reply['writeErrors']?.[0] as Document | undefined;
  if (first) throw new MongoServerError({ ...first, message: first['errmsg'] });
  if (reply['writeConcernError']) throw new MongoServerError(reply['writeConcernError']);
  return reply;
}
