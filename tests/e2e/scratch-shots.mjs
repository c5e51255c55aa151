import { launch, serve } from "./browser.mjs";
import { openApp } from "./app.mjs";
import { startProvider, heldReply } from "./provider.mjs";
import { readFileSync } from "node:fs";
const OUT="/tmp/wt/images/target/shots";
const served = await serve("/tmp/wt/images/web/dist");
const browser = await launch();
const SHOT=readFileSync("/tmp/wt/shot-1280.png").toString("base64");
const TALL=readFileSync("/tmp/wt/shot-390.png").toString("base64");
for (const [w,h] of [[1280,800],[768,1000],[390,844]]) for (const theme of ["light","dark"]) {
  const context = await browser.newContext({ viewport:{width:w,height:h}, reducedMotion:"reduce", serviceWorkers:"block" });
  context.setDefaultTimeout(10000);
  const page = await context.newPage();
  const held = heldReply("done");
  const provider = await startProvider("k", ["I see the **editor** with a review.", held.promise]);
  const app = await openApp(page, served.url);
  if (w<=640) await page.getByRole("button",{name:"Chat"}).click();
  await app.chooseModel({ apiKey:"k", baseUrl: provider.url });
  await page.evaluate((t)=>{document.documentElement.dataset.theme=t},theme);
  if (w<=640) await page.getByRole("button",{name:"Chat"}).click();
  const give = (kind, names) => app.input.evaluate((box,{names,SHOT,TALL,kind})=>{
    const dt=new DataTransfer();
    names.forEach((n,i)=>dt.items.add(new File([Uint8Array.from(atob(i%2?TALL:SHOT),c=>c.charCodeAt(0))],n,{type:"image/png"})));
    box.dispatchEvent(new (kind==="paste"?ClipboardEvent:DragEvent)(kind,{bubbles:true,cancelable:true,relatedTarget:null,clipboardData:dt,dataTransfer:dt}));
  },{names,SHOT,TALL,kind});
  const shot = (n) => page.screenshot({path:`${OUT}/${n}-${w}-${theme}.png`});
  await give("dragover",["x.png"]); await page.waitForTimeout(200); await shot("a-drag"); await give("dragleave",["x.png"]); 
  await give("paste",["Screenshot from 2026-11-29 22-10-05.png","phone.png"]);
  await page.locator(".with-picture").nth(1).waitFor();
  await app.input.fill("Why does the left pane look cut?");
  await page.waitForTimeout(200); await shot("b-chips");
  await app.input.press("Enter"); await app.transcript.getByText("I see the").waitFor(); await app.finished();
  await page.waitForTimeout(200); await shot("c-sent");
  await app.ask("go on");
  await give("paste",["later.png"]); await page.locator(".with-picture").first().waitFor(); await app.input.fill("and this one?"); await page.waitForTimeout(200); await shot("d-running");
  await app.input.press("Alt+Enter"); await page.locator(".queue").waitFor(); await page.waitForTimeout(200); await shot("e-queued");
  held.release(); await context.close(); await provider.close();
}
await browser.close(); await served.close();
