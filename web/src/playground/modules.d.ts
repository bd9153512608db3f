// What vite.config.ts makes of the files of cmake/wasm.cmake.
declare module 'soa-core/playground.js' {
  const factory: () => Promise<unknown>;
  export default factory;
}
declare module 'soa-core/models.json' {
  const models: { spec: string; name: string; text: string; q: number[]; bytes: string }[];
  export default models;
}
