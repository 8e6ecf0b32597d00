// The ESM door to the same CommonJS build, so that both kinds of importers share one addon.
import api from './dist/index.js';

export const {
  AggregationCursor, ClientSession, Collection, Db, FindCursor, Listener, MongoServerError, MultiforaClient, ObjectId,
  open, openSync, version,
} = api;
export default api;
