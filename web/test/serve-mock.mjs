// Serves the canned repositories, for work on the page: `npm run mock`.
import { serve } from './mock/server.mjs';

const { url } = await serve({ port: Number(process.env.PORT ?? 8123) });
console.log(`${url}/-/explore/`);
