@echo off
rem Installs Loupe into .venv beside this file, again whenever requirements.txt has changed, and opens the app.
setlocal
pushd "%~dp0" || goto failed
fc /b requirements.txt .venv\installed.txt >nul 2>nul && goto start
if exist .venv\Scripts\python.exe goto install
set new_enough="import sys; sys.exit(sys.version_info < (3, 11))"
set python=py -3
call %python% -c %new_enough% >nul 2>nul || set python=python
call %python% -c %new_enough% >nul 2>nul || goto missing
call %python% -m venv .venv || goto failed
:install
echo Loupe is being installed. This takes a few minutes.
.venv\Scripts\python.exe -m pip install --disable-pip-version-check -q -r requirements.txt || goto failed
copy /y requirements.txt .venv\installed.txt >nul
:start
echo Loupe opens in your browser. Close this window to end it.
.venv\Scripts\python.exe -m streamlit run app.py || goto failed
exit /b
:missing
echo Python 3.11 or newer is missing. Install it from https://www.python.org and start this file again.
:failed
pause
exit /b 1
