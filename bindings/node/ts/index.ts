/** MultiforaDB: documents in one file, with the MongoDB driver's names, results and errors. */
export { MongoBulkWriteError, MongoServerError, ObjectId } from 'mongodb';
export { BulkWriteResult, WriteError } from './bulk';
export {
  ClientSession, Listener, MultiforaClient, open, openSync, type OpenOptions, type OperationOptions, type ServeOptions, version,
} from './client';
export { Collection } from './collection';
export { AbstractCursor, AggregationCursor, CommandCursor, FindCursor } from './cursor';
export { Admin, Db } from './db';
