/** From the engine's errors to the driver's MongoServerError. */
import { type Document, MongoServerError } from 'mongodb';

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

/** Throws the error of a reply that is not ok. */
export function checkReply(reply: Document): Document {
  if (reply['ok'] !== 1) throw serverError(reply);
  return reply;
}

/** Throws the first write error of a single write's reply, as the driver does. */
export function checkWrite(reply: Document): Document {
  const first = reply['writeErrors']?.[0] as Document | undefined;
  if (first) throw new MongoServerError({ ...first, message: first['errmsg'] });
  if (reply['writeConcernError']) throw new MongoServerError(reply['writeConcernError']);
  return reply;
}
