// The page. Next renders it on the server, where the agent of the client component does not run.

import { Assistant } from "./assistant.jsx";

export default function Page() {
  return (
    <main>
      <h1>Emend with Next</h1>
      <Assistant />
    </main>
  );
}
